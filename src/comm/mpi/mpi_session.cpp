#include <array>
#include <numeric>
#include <sstream>

#include "comm/mpi/check_mpi.hpp"
#include "comm/mpi/groups.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

// In a simulation, makes each message within a node take the simulated time of copying it. `ranks` lists
// the members of the group by their ranks in the job.
std::unique_ptr<Communicator> charge_copies(std::unique_ptr<MpiCommunicator> group,
                                            const std::vector<int>& ranks, const Session& session) {
    const double rate = find_copy_bandwidth();
    if (rate <= 0) return group;
    const auto get_node = [&](int rank) { return session.nodes()[static_cast<std::size_t>(rank)]; };
    std::vector<bool> shares_node;
    for (const int rank : ranks) shares_node.push_back(get_node(rank) == get_node(session.rank()));
    group->charge_node_copies(rate, std::move(shares_node));
    return group;
}

}  // namespace

Session::Session(int& argc, char**& argv, double stall_seconds) : stall_seconds_(stall_seconds) {
    int is_initialized = 0;
    check_mpi(MPI_Initialized(&is_initialized), "MPI_Initialized");
    owns_mpi_ = is_initialized == 0;
    int provided = MPI_THREAD_FUNNELED;
    if (owns_mpi_) {
        check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    }
    // A simulation needs no support for other threads, because simulated ranks start none.
    if (provided < MPI_THREAD_FUNNELED && !device::time_is_simulated())
        throw ResourceError(
            "this MPI library does not support MPI_THREAD_FUNNELED; use an MPI library that does");
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    nodes_ = find_nodes(rank_, size_, {.stall_seconds = stall_seconds});
}

Session::~Session() {
    finalize([] {});
}

std::string Session::host() const {
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    return {name.data(), static_cast<std::size_t>(length)};
}

std::string Session::library() const {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    check_mpi(MPI_Get_library_version(text.data(), &length), "MPI_Get_library_version");
    const std::string all(text.data(), static_cast<std::size_t>(length));
    std::istringstream words(all.substr(0, all.find_first_of(",\n")));  // for example "MPICH Version:\t4.0.2"
    std::string name;
    for (std::string word; words >> word;) name += (name.empty() ? "" : " ") + word;
    return name;
}

std::unique_ptr<Communicator> Session::make_group_of_all_ranks(std::string name,
                                                               device::WaitPolicy wait_policy) const {
    std::vector<int> ranks(static_cast<std::size_t>(size_));
    std::iota(ranks.begin(), ranks.end(), 0);
    return charge_copies(std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, std::move(name), wait_policy), ranks,
                         *this);
}

std::unique_ptr<Communicator> Session::make_group(const std::vector<int>& ranks, std::string name,
                                                  device::WaitPolicy wait_policy) const {
    if (ranks == std::vector{rank_}) return make_single_rank_group(std::move(name));
    return charge_copies(std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, ranks, std::move(name), wait_policy),
                         ranks, *this);
}

std::unique_ptr<NodeMemory> Session::make_node_memory(const std::vector<int>& ranks,
                                                      device::WaitPolicy wait_policy) const {
    return std::make_unique<NodeMemory>(make_group(ranks, "node", wait_policy));
}

std::unique_ptr<NodeMemory> Session::make_node_memory(device::WaitPolicy wait_policy) const {
    std::vector<int> ranks;
    for (int rank = 0; rank < size_; ++rank)
        if (nodes_[static_cast<std::size_t>(rank)] == node()) ranks.push_back(rank);
    return make_node_memory(ranks, wait_policy);
}

// Blank memory is a message buffer without contents (node_memory.hpp).
std::shared_ptr<const BlankMemory> Session::make_blank_memory(std::size_t bytes) const {
    return std::make_shared<const BlankMemory>(bytes);
}

}  // namespace trireme::comm
