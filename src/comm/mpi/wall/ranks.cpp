// MPI operations of ranks that are real processes: check-in, node discovery, waiting, abort and end.

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

// Empty messages between this rank and some others. The destructor cancels those that have not arrived when an
// error ends the wait.
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

    // Throws the errors of wait_until(). In its message, `what` follows "for ranks 2-3".
    void wait(const device::Patience& patience, const std::string& what) {
        wait_until([&] { return are_done(); }, patience, [&] { return cat(pending_peers(), what); });
    }

private:
    static constexpr int tag = 1;

    MPI_Request& add(int peer) {
        peers_.push_back(peer);
        return requests_.emplace_back(MPI_REQUEST_NULL);
    }

    bool are_done() {
        const int count = static_cast<int>(requests_.size());
        done_.resize(requests_.size());
        int done_count = 0;  // MPI_UNDEFINED once no request is active
        check_mpi(MPI_Testsome(count, requests_.data(), &done_count, done_.data(), MPI_STATUSES_IGNORE),
                  "MPI_Testsome");
        return done_count == MPI_UNDEFINED;
    }

    std::string pending_peers() const {
        std::vector<int> pending;
        for (std::size_t i = 0; i < peers_.size(); ++i) {
            if (requests_[i] != MPI_REQUEST_NULL) pending.push_back(peers_[i]);
        }
        std::ranges::sort(pending);
        return cat(pending.size() == 1 ? "rank " : "ranks ", number_list(pending));
    }

    MPI_Comm comm_;
    std::vector<int> peers_;
    std::vector<MPI_Request> requests_;
    std::vector<int> done_;
};

constexpr std::chrono::seconds patience{20};

}  // namespace

void check_in(MPI_Comm parent, const std::vector<int>& ranks, const std::string& name,
              device::Patience patience) {
    int own = 0;
    check_mpi(MPI_Comm_rank(parent, &own), "MPI_Comm_rank");
    const int first = ranks.front();
    EmptyMessages arrivals(parent);
    EmptyMessages releases(parent);
    const std::string purpose = cat(" to create the ", name, " group");
    if (own != first) {
        patience.stall_seconds *= 2;  // the first rank knows which ranks are missing, and reports first
        releases.receive(first);
        arrivals.send(first);
        arrivals.wait(patience, purpose);
        releases.wait(patience, purpose);
        return;
    }
    for (const int rank : ranks) {
        if (rank != own) arrivals.receive(rank);
    }
    arrivals.wait(patience, purpose);
    for (const int rank : ranks) {
        if (rank != own) releases.send(rank);
    }
    releases.wait(patience, purpose);
}

void check_in_all(MPI_Comm parent, const std::string& name, device::Patience patience) {
    int size = 0;
    check_mpi(MPI_Comm_size(parent, &size), "MPI_Comm_size");
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    check_in(parent, ranks, name, patience);
}

std::vector<int> node_of_each(int rank, int size, const device::Patience& patience) {
    check_in_all(MPI_COMM_WORLD, "node", patience);
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

double copied_bytes_per_second() { return 0; }

int MpiCommunicator::test(MPI_Request& request, bool& is_done, MPI_Status& status) {
    int flag = 0;
    const int code = MPI_Test(&request, &flag, &status);
    is_done = flag != 0;
    return code;
}

void MpiCommunicator::wait_for(Ticket ticket) { Communicator::wait_for(ticket); }

// Large messages progress only while both ranks are inside MPI. Any MPI call progresses all of them, so the
// result of this one is ignored.
void MpiCommunicator::progress() {
    unasked_sender();
    Communicator::progress();
}

void Session::abort(int exit_code) const {
    std::fflush(nullptr);
    MPI_Abort(MPI_COMM_WORLD, exit_code);
    std::_Exit(exit_code);  // not reached: MPI_Abort does not return
}

void Session::end(const std::function<void()>& is_stuck) {
    if (!std::exchange(has_started_, false)) return;
    std::promise<void> over;
    std::thread observer([is_over = over.get_future(), &is_stuck] {
        if (is_over.wait_for(patience) == std::future_status::timeout) is_stuck();
    });
    MPI_Finalize();
    over.set_value();
    observer.join();
}

BlankMemory::BlankMemory(std::size_t bytes) : bytes_(bytes), data_(nullptr) {
    throw BugError("messages that carry nothing are for simulated time");
}

BlankMemory::~BlankMemory() = default;

}  // namespace trireme::comm
