// Finds out whether all ranks want to leave a job that cannot continue. If all ranks do, they can finalize MPI.
// Otherwise only MPI_Abort ends the job.
#pragma once

#include <memory>

#include "trireme/comm/session.hpp"

namespace trireme::rank {

// Must be constructed while all ranks are alive, and destroyed before the session.
class Departure {
public:
    // Collective over all ranks. confirm_joint_exit() waits at most 5 seconds for the other ranks.
    explicit Departure(const comm::Session& session);

    // `group` has all ranks and must serve nothing else. The group's stall limit is the longest time that
    // confirm_joint_exit() waits for the other ranks.
    explicit Departure(std::unique_ptr<comm::Communicator> group);

    // Called by a rank that cannot continue. Returns true once all ranks have called this function; all ranks
    // may then finalize MPI. Returns false if some ranks do not call this function in time.
    bool confirm_joint_exit();

private:
    std::unique_ptr<comm::Communicator> group_;
};

}  // namespace trireme::rank
