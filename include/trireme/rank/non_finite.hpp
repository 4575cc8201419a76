// Finds the origin of a loss or a gradient that is not finite.
#pragma once

#include <optional>
#include <string>

#include "trireme/comm/communicator.hpp"
#include "trireme/config/config.hpp"
#include "trireme/kernels/value_check.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/stage/local_parameters.hpp"

namespace trireme::rank {

// The first kernel output of a rank that is not finite in a step.
struct NonFiniteFinding {
    kernels::NonFiniteOutput what;
    std::string parameter = {};  // parameter that holds the input; empty if the input is no parameter
    std::string gradient = {};   // parameter whose summed gradient holds the input; empty if none
};

// Looks up the input among the parameters of this rank and their gradients.
NonFiniteFinding name_input(const kernels::NonFiniteOutput& what, const stage::LocalParameters& held);

// True if the programs can repeat a step by itself with the parameters that it had: no work is in flight across
// its end, or no later update has been applied.
bool can_repeat_step(const plan::ProvedPrograms& training, config::OnNan on_nan);

// Collective over `control`. Describes the finding from which those of other ranks follow: "rank 3 (stage 1),
// layer transformer.h.5.mlp, micro-batch 2, forward: output of linear is inf at [17, 203] although its inputs
// are finite". Empty if no rank has a finding.
std::string describe_first(comm::Communicator& control, const std::optional<NonFiniteFinding>& own);

}  // namespace trireme::rank
