// The MPI job that this process is a rank of.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/comm/node_memory.hpp"

namespace trireme::comm {

// One per process, made first in main() and destroyed last. One thread, the one that made it, may communicate.
// Where MPI has been started before, it is left running, too.
class Session {
public:
    // Throws ResourceError, which names the ranks that are missing, where some have not come this far within
    // `stall_seconds`.
    Session(int& argc, char**& argv, double stall_seconds = device::Patience{}.stall_seconds);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    double stall_seconds() const { return stall_seconds_; }   // as the session was made with
    const std::vector<int>& nodes() const { return nodes_; }  // each rank's: the first that shares its memory
    std::string host() const;
    int node() const { return nodes_[static_cast<std::size_t>(rank_)]; }
    std::string library() const;  // "Open MPI v4.1.4, ..."

    // Collective over all ranks. A group of all ranks with message order of its own. `patience` limits the wait
    // for ranks that do not call it, too, here and below.
    std::unique_ptr<Communicator> all_ranks(std::string name, device::Patience patience) const;

    // Collective over `ranks` alone (of the job, distinct, in any order, this one among them); groups are made
    // in one order on every rank. Rank r of the group is ranks[r].
    std::unique_ptr<Communicator> group_of(const std::vector<int>& ranks, std::string name,
                                           device::Patience patience) const;

    // Collective over `ranks`, likewise, all of one node. There is none of it yet.
    std::unique_ptr<NodeMemory> node_memory(const std::vector<int>& ranks, device::Patience patience) const;

    // In a simulation alone.
    std::shared_ptr<const BlankMemory> blank_memory(std::size_t bytes) const;

    // Ends MPI, as the destructor does; no member is called after that. Where the library does not come back
    // within 20 seconds, `is_stuck` is called on another thread: MPICH 4.0 may wait for ever where ranks speak
    // by TCP.
    void end(const std::function<void()>& is_stuck);

    // Ends the job on every rank, at once.
    [[noreturn]] void abort(int exit_code) const;

private:
    int rank_ = 0;
    int size_ = 1;
    double stall_seconds_;
    std::vector<int> nodes_ = {};
    bool has_started_ = false;
};

}  // namespace trireme::comm
