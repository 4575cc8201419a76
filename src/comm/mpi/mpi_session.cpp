#include <array>
#include <numeric>
#include <sstream>

#include "comm/mpi/check_mpi.hpp"
#include "comm/mpi/groups.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "comm/mpi/mpi_node_memory.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::comm {
namespace {

// In a simulation, makes the group charge copies within a node. `ranks` are its ranks, numbered within the job.
std::unique_ptr<Communicator> with_copies(std::unique_ptr<MpiCommunicator> group, const std::vector<int>& ranks,
                                          const Session& session) {
    const double rate = copied_bytes_per_second();
    if (rate <= 0) return group;
    const auto node_of = [&](int rank) { return session.nodes()[static_cast<std::size_t>(rank)]; };
    std::vector<bool> is_near;
    for (const int rank : ranks) is_near.push_back(node_of(rank) == node_of(session.rank()));
    group->copy_itself(rate, std::move(is_near));
    return group;
}

}  // namespace

Session::Session(int& argc, char**& argv, double stall_seconds) : stall_seconds_(stall_seconds) {
    int is_running = 0;
    check_mpi(MPI_Initialized(&is_running), "MPI_Initialized");
    has_started_ = is_running == 0;
    int provided = MPI_THREAD_FUNNELED;
    if (has_started_) {
        check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
    }
    if (provided < MPI_THREAD_FUNNELED && !device::time_is_simulated())  // simulated ranks have no threads
        throw ResourceError("this MPI library supports no threads beside it");
    check_mpi(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    nodes_ = node_of_each(rank_, size_, {.stall_seconds = stall_seconds});
}

Session::~Session() {
    end([] {});
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
    std::istringstream words(all.substr(0, all.find_first_of(",\n")));  // "MPICH Version:\t4.0.2"
    std::string name;
    for (std::string word; words >> word;) name += (name.empty() ? "" : " ") + word;
    return name;
}

std::unique_ptr<Communicator> Session::all_ranks(std::string name, device::Patience patience) const {
    std::vector<int> ranks(static_cast<std::size_t>(size_));
    std::iota(ranks.begin(), ranks.end(), 0);
    return with_copies(std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, std::move(name), patience), ranks,
                       *this);
}

std::unique_ptr<Communicator> Session::group_of(const std::vector<int>& ranks, std::string name,
                                                device::Patience patience) const {
    if (ranks == std::vector{rank_}) return single_rank(std::move(name));
    return with_copies(std::make_unique<MpiCommunicator>(MPI_COMM_WORLD, ranks, std::move(name), patience),
                       ranks, *this);
}

std::unique_ptr<NodeMemory> Session::node_memory(const std::vector<int>& ranks,
                                                 device::Patience patience) const {
    return std::make_unique<MpiNodeMemory>(ranks, group_of(ranks, "node", patience), patience);
}

std::shared_ptr<const BlankMemory> Session::blank_memory(std::size_t bytes) const {
    return std::make_shared<const BlankMemory>(bytes);
}

}  // namespace trireme::comm
