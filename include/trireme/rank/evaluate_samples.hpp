// Evaluates the model on the validation samples: loss, accuracy, and exact match and F1 of answers.
#pragma once

#include "trireme/comm/communicator.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/records/evaluation.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::rank {

// Collective over `control`. Returns equal results on all ranks. Rank 0 shows the progress on the terminal.
records::Evaluation evaluate_samples(RankModel& model, device::Stream& stream, const setup::Job& job,
                                     const setup::PlanState& current, comm::Communicator& control);

}  // namespace trireme::rank
