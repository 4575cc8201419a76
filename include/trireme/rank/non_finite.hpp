// The origin of a loss or a gradient that is not finite.
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
    std::string parameter = {};  // The parameter that holds the input; empty: the input is no parameter.
    std::string gradient = {};   // The parameter whose summed gradient holds the input; empty: none.
};

// Looks up the input among the parameters of this rank and their gradients.
NonFiniteFinding name_input(const kernels::NonFiniteOutput& what, const stage::LocalParameters& held);

// True if the programs can execute one step again by itself, with the parameters that it had: nothing is in
// flight over its end, or later steps have not been updated.
bool can_repeat_step(const plan::ProvedPrograms& training, config::OnNan on_nan);

// Collective over `control`. Describes the finding that explains those of the other ranks, which got their
// values from it: "rank 3 (stage 1), layer transformer.h.5.mlp, micro-batch 2, forward: output of linear is inf
// at [17, 203] although its inputs are finite". Empty if no rank has a finding.
std::string describe_first(comm::Communicator& control, const std::optional<NonFiniteFinding>& own);

}  // namespace trireme::rank
