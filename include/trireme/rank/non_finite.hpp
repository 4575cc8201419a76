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
    kernels::NonFiniteOutput kernel_output;
    // The tensor that the kernel's non-finite input belongs to. Both names are empty if all inputs are finite,
    // or if the non-finite input is neither a parameter nor a reduced gradient.
    std::string parameter = {};  // name of the parameter that is the input
    std::string gradient = {};   // name of the parameter whose reduced gradient is the input
};

// Makes a finding of `kernel_output`: looks up its non-finite input among this rank's parameters and their
// gradients.
NonFiniteFinding make_finding(const kernels::NonFiniteOutput& kernel_output,
                              const stage::LocalParameters& parameters);

// True if the programs can execute a step once more, alone and with the parameters of its first execution. This
// is possible if no micro-batch is in flight between steps, or if no later update has been applied.
bool can_repeat_step(const plan::ProvedPrograms& training, config::OnNan on_nan);

// Collective over `control`. Describes the earliest finding of all ranks, which has caused the other findings:
// "rank 3 (stage 1), layer transformer.h.5.mlp, micro-batch 2, forward: output of linear is inf at [17, 203]
// although its inputs are finite". Empty if no rank has a finding.
std::string describe_first_finding(comm::Communicator& control,
                                   const std::optional<NonFiniteFinding>& own_finding);

}  // namespace trireme::rank
