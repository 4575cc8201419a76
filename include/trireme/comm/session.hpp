// The MPI job that this process is a rank of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme {

// One per process, made first in main() and destroyed last. One thread, the one that made it, may communicate.
// Where MPI has been started before, it is left running, too.
class Session {
public:
    Session(int& argc, char**& argv);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    int rank() const { return rank_; }
    int size() const { return size_; }
    int node_size() const { return node_size_; }  // ranks of this node
    std::string host() const;
    std::string library() const;  // "Open MPI v4.1.4, ..."

    // Collective over all ranks. A group of all ranks with message order of its own.
    std::unique_ptr<Communicator> all_ranks(std::string name, Patience patience) const;

    // Collective over `ranks` alone (of the job, distinct, in any order, this one among them); groups are made
    // in one order on every rank. Rank r of the group is ranks[r].
    std::unique_ptr<Communicator> group_of(const std::vector<int>& ranks, std::string name,
                                           Patience patience) const;

    // Ends the job on every rank, at once.
    [[noreturn]] void abort(int exit_code) const;

private:
    int rank_ = 0;
    int size_ = 1;
    int node_size_ = 1;
    bool has_started_ = false;
};

}  // namespace trireme
