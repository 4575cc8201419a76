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

// The first non-finite kernel output of a step on a rank.
struct NonFiniteFinding {
    kernels::NonFiniteOutput kernel_output;
    // At most one of these two names is set. Both names are empty if all inputs of the kernel are finite, or if
    // the first non-finite input is neither a parameter nor a reduced gradient.
    std::string parameter = {};  // name of the parameter that is the first non-finite input
    std::string gradient = {};   // name of the parameter whose reduced gradient is this input
};

// Makes a finding of `kernel_output`: looks up the kernel's non-finite input among this rank's parameters and
// their gradients.
NonFiniteFinding make_finding(const kernels::NonFiniteOutput& kernel_output,
                              const stage::LocalParameters& parameters);

// True if `training` can repeat a step whose update was skipped, without other steps and with the parameters of
// the step's first execution. This is possible if no micro-batch is in flight between steps. A repetition is
// also possible if updates are speculative, no instruction uses old weights, and `on_nan` is OnNan::stop, with
// which all later updates are skipped.
bool can_repeat_step(const plan::ProvedPrograms& training, config::OnNan on_nan);

// Collective over `control`. Returns a description of the first finding of all ranks; empty if no rank has a
// finding. Findings at kernels whose inputs are finite, or whose non-finite input is a parameter, come before
// other findings. Within each of these two classes, findings are ordered by micro-batch, and forward comes
// before backward. Example: "rank 3 (stage 1), layer transformer.h.5.mlp, micro-batch 2, forward: output of
// linear is inf at [17, 203] although its inputs are finite".
std::string describe_first_finding(comm::Communicator& control,
                                   const std::optional<NonFiniteFinding>& own_finding);

}  // namespace trireme::rank
