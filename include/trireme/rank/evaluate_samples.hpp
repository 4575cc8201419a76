// Evaluates the model on the validation samples: loss, accuracy, and exact match and F1 of answers.
#pragma once

#include "trireme/comm/communicator.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/records/evaluation.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::rank {

// Collective over `control`, which has all ranks. `model` has the layout of `current`, and there is at least
// one validation sample. Returns equal results on all ranks. Rank 0 shows the progress unless the run is quiet.
records::Evaluation evaluate_samples(RankModel& model, device::Stream& stream, const setup::Job& job,
                                     const setup::PlanState& current, comm::Communicator& control);

}  // namespace trireme::rank
