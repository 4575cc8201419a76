// Layouts that follow the lengths of samples (--elastic length) or the number of frozen blocks (--auto-pipe).
#pragma once

#include <string>
#include <vector>

#include "trireme/plan/stage_work.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/stage_work.hpp"

namespace trireme::setup {

// Returns why the layout of a run that begins with `plan` does not follow the lengths of samples; an empty text
// if it does. Throws ConfigError if --elastic-means demands this, and it is not possible.
std::string explain_fixed_layout(const config::RunConfig& config, const plan::Plan& plan);
// True if the layout of a run that begins with `plan` follows the lengths of samples.
bool follows_lengths(const Job& job, const plan::Plan& plan);
// True if, with --auto-pipe on, the planner chooses the layouts of a run for the numbers of frozen blocks.
// `origin` is the layout of the options.
bool plans_depth(const config::RunConfig& config, const layout::Layout& origin);
// Throws ConfigError if --auto-pipe cannot change the layout of a run that begins with `plan`.
void check_auto_pipe(const config::RunConfig& config, const plan::Plan& plan);
// Throws ConfigError if decisions about layouts need links of --cluster or --profile, because --change-times is
// `predicted`, and there are none. `plan` is the plan with which the run begins.
void check_change_times(const Job& job, const plan::Plan& plan, int ranks);
// True if `plan` may lack memory for the longest samples, because another plan may replace it before their
// step.
bool may_lack_memory(const Job& job, const plan::Plan& plan);

// Predicts the passes of single layers on rank 0, as if the layer were divided evenly among the ranks of a
// team of the plan.
class LayerTimes {
public:
    // Keeps a reference to the model. The first `frozen` blocks and, if there are any, the embedding run
    // forward only.
    LayerTimes(const Job& job, const plan::Plan& plan, int frozen);

    // Returns, per layer of the model, the seconds of the forward and the backward pass of one micro-batch.
    std::vector<double> predict_seconds(const plan::MicrobatchShape& shape) const;

private:
    StageWorks works_;
    std::vector<const plan::StageWork*> work_;  // per layer
    plan::KernelSeconds kernel_seconds_;
};

}  // namespace trireme::setup
