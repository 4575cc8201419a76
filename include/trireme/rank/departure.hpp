// How a rank leaves a job that cannot go on.
#pragma once

#include <memory>

#include "trireme/comm/session.hpp"

namespace trireme::rank {

// Made while all ranks are well. Destroy it before the session.
class Departure {
public:
    // Collective over all ranks.
    explicit Departure(const comm::Session& session);

    // Over a group of its own, whose patience says how long the others are waited for.
    explicit Departure(std::unique_ptr<comm::Communicator> group);

    // For a rank that gives up: true once all ranks have called it, so that they may leave in order. False
    // where some have not after a few seconds: those know of nothing, and only an abort ends the job.
    bool is_joint();

private:
    std::unique_ptr<comm::Communicator> group_;
};

}  // namespace trireme::rank
