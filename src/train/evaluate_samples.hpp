// The loss and scores of the model on the validation samples.
#pragma once

#include "train/evaluation.hpp"
#include "train/rank_model.hpp"
#include "train/setup.hpp"
#include "trireme/comm/communicator.hpp"

namespace trireme {

// Collective over `control`. Equal on all ranks. Rank 0 shows the progress on the terminal.
Evaluation evaluate_samples(RankModel& model, Stream& stream, const Setup& setup, Communicator& control,
                            bool is_quiet);

}  // namespace trireme
