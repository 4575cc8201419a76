// The MPI job of this process: it starts and ends MPI, and creates groups of ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/node_memory.hpp"

namespace trireme::comm {

// One per process, constructed first in main() and destroyed last. Only the thread that constructs it may
// communicate. If MPI is already initialized, the destructor leaves it running.
class Session {
public:
    // Collective over all ranks. Throws ResourceError, which names the missing ranks, if some have not called
    // this within `stall_seconds`.
    Session(int& argc, char**& argv, double stall_seconds = device::Patience{}.stall_seconds);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    double stall_seconds() const { return stall_seconds_; }
    const std::vector<int>& nodes() const { return nodes_; }  // per rank: the lowest rank of its node
    std::string host() const;
    int node() const { return nodes_[static_cast<std::size_t>(rank_)]; }
    std::string library() const;  // "Open MPI v4.1.4, ..."

    // Collective over all ranks. Returns a new group of all ranks, whose messages are independent of those of
    // other groups. Here and below, `patience` also limits the wait for ranks that do not make the call.
    std::unique_ptr<Communicator> all_ranks(std::string name, device::Patience patience) const;

    // Collective over `ranks` only. They are distinct ranks of the job, in any order, and include this one.
    // Every rank must create its groups in the same order. Rank r of the group is ranks[r].
    std::unique_ptr<Communicator> group_of(const std::vector<int>& ranks, std::string name,
                                           device::Patience patience) const;

    // Collective over `ranks` only, which must be on one node. The result has no memory until take() is called.
    std::unique_ptr<NodeMemory> node_memory(const std::vector<int>& ranks, device::Patience patience) const;

    // Throws BugError outside of a simulation.
    std::shared_ptr<const BlankMemory> blank_memory(std::size_t bytes) const;

    // Finalizes MPI, as the destructor does; no member may be called afterwards. If MPI_Finalize does not
    // return within 20 seconds, `is_stuck` is called on another thread: MPICH 4.0 may hang there if ranks
    // communicate over TCP.
    void end(const std::function<void()>& is_stuck);

    // Ends the job on all ranks at once.
    [[noreturn]] void abort(int exit_code) const;

private:
    int rank_ = 0;
    int size_ = 1;
    double stall_seconds_;
    std::vector<int> nodes_ = {};
    bool has_started_ = false;
};

}  // namespace trireme::comm
