// The MPI job that this process belongs to: starts and ends MPI, and creates groups of ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/node_memory.hpp"

namespace trireme::comm {

// One object per process, constructed first in main() and destroyed last. Only the thread that constructs the
// object may communicate. If MPI was initialized before, the destructor does not finalize MPI.
class Session {
public:
    // Collective over all ranks. Throws ResourceError, naming the missing ranks, if some ranks have not called
    // this constructor within `stall_seconds`.
    Session(int& argc, char**& argv, double stall_seconds = device::WaitPolicy{}.stall_seconds);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    double stall_seconds() const { return stall_seconds_; }
    // Returns for each rank of the job the lowest rank of its node, which identifies the node.
    const std::vector<int>& nodes() const { return nodes_; }
    std::string host() const;                                             // name of this process' node
    int node() const { return nodes_[static_cast<std::size_t>(rank_)]; }  // the lowest rank of this node
    std::string library() const;  // library name and version, for example "Open MPI v4.1.4"

    // Collective over all ranks. Returns a new group of all ranks, whose messages are independent of those of
    // other groups. `name` is for error messages. `wait_policy` limits the waits of the group. In this function
    // and the next two, `wait_policy` also limits the wait for ranks that have not made the call.
    std::unique_ptr<Communicator> make_group_of_all_ranks(std::string name,
                                                          device::WaitPolicy wait_policy) const;

    // Collective over `ranks` only. `ranks` are distinct ranks of the job, in any order, and include this rank.
    // Rank r of the group is ranks[r]. Ranks that share several groups must create these groups in the same
    // order.
    std::unique_ptr<Communicator> make_group(const std::vector<int>& ranks, std::string name,
                                             device::WaitPolicy wait_policy) const;

    // Collective over `ranks` only. All of them must be on one node. The result has no memory until allocate()
    // is called.
    std::unique_ptr<NodeMemory> make_node_memory(const std::vector<int>& ranks,
                                                 device::WaitPolicy wait_policy) const;
    // Same for all ranks of this node.
    std::unique_ptr<NodeMemory> make_node_memory(device::WaitPolicy wait_policy) const;

    // Returns a message buffer without contents for simulated ranks. Throws BugError outside of a simulation.
    std::shared_ptr<const BlankMemory> make_blank_memory(std::size_t bytes) const;

    // Finalizes MPI, as the destructor does; no member may be called afterwards. If MPI_Finalize does not
    // return within 20 seconds, `on_stuck` is called on another thread: MPICH 4.0 may hang there if ranks
    // communicate over TCP.
    void finalize(const std::function<void()>& on_stuck);

    // Ends the job on all ranks at once.
    [[noreturn]] void abort(int exit_code) const;

private:
    int rank_ = 0;
    int size_ = 1;
    double stall_seconds_;
    std::vector<int> nodes_ = {};
    bool owns_mpi_ = false;  // true until finalize() if this object has initialized MPI
};

}  // namespace trireme::comm
