// Finds out whether all ranks leave a job that cannot continue, so that they can end MPI in order.
#pragma once

#include <memory>

#include "trireme/comm/session.hpp"

namespace trireme::rank {

// Must be constructed while all ranks are alive, and destroyed before the session.
class Departure {
public:
    // Collective over all ranks.
    explicit Departure(const comm::Session& session);

    // `group` must serve nothing else. Its patience sets how long is_joint() waits for the other ranks.
    explicit Departure(std::unique_ptr<comm::Communicator> group);

    // Called by a rank that gives up. Returns true once all ranks have called it; they may then leave in order.
    // Returns false if some ranks have not called it within a few seconds; then only an abort ends the job.
    bool is_joint();

private:
    std::unique_ptr<comm::Communicator> group_;
};

}  // namespace trireme::rank
