// MPI operations of real ranks: waiting for ranks, finding nodes, progress, abort and end. Each real rank is a
// process of its own that runs in wall-clock time; ../simulated has the operations of simulated ranks.

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <numeric>
#include <thread>
#include <utility>

#include "comm/mpi/check_mpi.hpp"
#include "comm/mpi/groups.hpp"
#include "comm/mpi/mpi_communicator.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/node_memory.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::comm {
namespace {

// Empty messages between this rank and some other ranks. If an error ends the wait, the destructor cancels the
// messages that are still pending.
class EmptyMessages {
public:
    explicit EmptyMessages(MPI_Comm comm) : comm_(comm) {}
    ~EmptyMessages() {
        for (MPI_Request& request : requests_) {
            if (request == MPI_REQUEST_NULL) continue;
            MPI_Cancel(&request);
            MPI_Request_free(&request);
        }
    }
    EmptyMessages(const EmptyMessages&) = delete;
    EmptyMessages& operator=(const EmptyMessages&) = delete;

    void send(int peer) {
        MPI_Request& request = add(peer);
        check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, peer, tag, comm_, &request), "MPI_Isend");
    }
    void receive(int peer) {
        MPI_Request& request = add(peer);
        check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, peer, tag, comm_, &request), "MPI_Irecv");
    }

    // Throws what wait_until() throws. The error message lists the pending ranks, for example "ranks 2-3",
    // and then `purpose`.
    void wait(const device::WaitPolicy& wait_policy, const std::string& purpose) {
        wait_until([&] { return test_all(); }, wait_policy,
                   [&] { return cat(describe_pending_peers(), purpose); });
    }

private:
    static constexpr int tag = 1;

    MPI_Request& add(int peer) {
        peers_.push_back(peer);
        return requests_.emplace_back(MPI_REQUEST_NULL);
    }

    bool test_all() {
        const int count = static_cast<int>(requests_.size());
        done_indices_.resize(requests_.size());
        int done_count = 0;  // MPI_UNDEFINED when no request is active any more
        check_mpi(MPI_Testsome(count, requests_.data(), &done_count, done_indices_.data(), MPI_STATUSES_IGNORE),
                  "MPI_Testsome");
        return done_count == MPI_UNDEFINED;
    }

    std::string describe_pending_peers() const {
        std::vector<int> pending;
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            if (requests_[i] != MPI_REQUEST_NULL) pending.push_back(peers_[i]);
        }
        std::ranges::sort(pending);
        return cat(pending.size() == 1 ? "rank " : "ranks ", format_ranges(pending));
    }

    MPI_Comm comm_;
    std::vector<int> peers_;
    std::vector<MPI_Request> requests_;
    std::vector<int> done_indices_;
};

constexpr std::chrono::seconds finalize_limit{20};

}  // namespace

void wait_for_ranks(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
                    device::WaitPolicy wait_policy) {
    int own_rank = 0;
    check_mpi(MPI_Comm_rank(parent, &own_rank), "MPI_Comm_rank");
    const int first = ranks.front();
    EmptyMessages arrival_messages(parent);
    EmptyMessages release_messages(parent);
    const std::string purpose = cat(" to create the ", name, " group");
    if (own_rank != first) {
        wait_policy.stall_seconds *= 2;  // rank `first` can name the missing ranks, so its wait ends earlier
        release_messages.receive(first);
        arrival_messages.send(first);
        arrival_messages.wait(wait_policy, purpose);
        release_messages.wait(wait_policy, purpose);
        return;
    }
    for (const int rank : ranks) {
        if (rank != own_rank) arrival_messages.receive(rank);
    }
    arrival_messages.wait(wait_policy, purpose);
    for (const int rank : ranks) {
        if (rank != own_rank) release_messages.send(rank);
    }
    release_messages.wait(wait_policy, purpose);
}

void wait_for_all_ranks(MPI_Comm parent, const std::string& name, device::WaitPolicy wait_policy) {
    int size = 0;
    check_mpi(MPI_Comm_size(parent, &size), "MPI_Comm_size");
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    wait_for_ranks(parent, ranks, name, wait_policy);
}

std::vector<int> find_nodes(int rank, int size, const device::WaitPolicy& wait_policy) {
    wait_for_all_ranks(MPI_COMM_WORLD, "node", wait_policy);
    MPI_Comm node = MPI_COMM_NULL;
    check_mpi(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node),
              "MPI_Comm_split_type");
    int first = rank;
    check_mpi(MPI_Bcast(&first, 1, MPI_INT, 0, node), "MPI_Bcast");
    check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
    std::vector<int> all(static_cast<std::size_t>(size));
    check_mpi(MPI_Allgather(&first, 1, MPI_INT, all.data(), 1, MPI_INT, MPI_COMM_WORLD), "MPI_Allgather");
    return all;
}

// Simulated ranks add time for copying messages within a node. Real copies take wall-clock time already; the
// result 0 means that no time is added.
double find_copy_bandwidth() { return 0; }

void MpiCommunicator::remove_done(std::vector<RequestId>& ids) { Communicator::remove_done(ids); }

int MpiCommunicator::test(MPI_Request& request, bool& is_done, MPI_Status& status) {
    int flag = 0;
    const int code = MPI_Test(&request, &flag, &status);
    is_done = flag != 0;
    return code;
}

void MpiCommunicator::wait_for(RequestId id) { Communicator::wait_for(id); }

// A large message progresses only while its sender and its receiver are inside MPI. Any MPI call progresses all
// messages; this function probes for a message and ignores the result.
void MpiCommunicator::progress() {
    probe_sender();
    Communicator::progress();
}

void Session::abort(int exit_code) const {
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);  // not reached: MPI_Abort does not return
}

void Session::finalize(const std::function<void()>& on_stuck) {
    if (!std::exchange(owns_mpi_, false)) return;
    std::promise<void> finalized;
    std::thread observer([is_finalized = finalized.get_future(), &on_stuck] {
        if (is_finalized.wait_for(finalize_limit) == std::future_status::timeout) on_stuck();
    });
    MPI_Finalize();
    finalized.set_value();
    observer.join();
}

// BlankMemory is a message buffer with a size but without contents, which only simulated ranks may use.
BlankMemory::BlankMemory(std::size_t bytes) : bytes_(bytes), data_(nullptr) {
    throw BugError("message buffers without contents exist only in simulations");
}

BlankMemory::~BlankMemory() = default;

}  // namespace trireme::comm
