// Derives the kernels of a stage, as functions of the shape of a micro-batch, from passes with ghost tensors.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trireme/layout/migration.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/stage_work.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

// Returns the counts (samples, rows and others) of a micro-batch of shape `shape`.
plan::MicrobatchShape count_shape(const stage::BatchShape& shape);

// Returns `predict_seconds` as a function with the signature that plan::StageWork calls. `speed` is the speed
// of the clock as a fraction of the speed of the highest clock.
plan::KernelSeconds adapt_kernel_seconds(device::KernelTimePredictor predict_seconds, double speed = 1);

// Returns the work of a stage. The costs of all kernels are linear in the counts of a shape, until the counts
// reach a limit. The limits are the rows of each embedding table and the rows of a tile of logits.
// `variant.halves` is ignored.
plan::StageWork derive_stage_work(const model::ModelConfig& model, const stage::StageSpec& spec,
                                  const stage::PassVariant& variant);

// The work of all stages of a plan, or of plans of one job without migrations. Stages and ranks with equal work
// share one plan::StageWork.
class StageWorks {
public:
    // The model is kept by reference.
    StageWorks(const model::ModelConfig& model, const plan::Plan& plan, device::DType dtype)
        : model_(model),
          dtype_(dtype),
          cuts_rows_(plan.cuts_rows),
          resizing_limit_(plan.max_skipped_fraction),
          spread_(plan.spread) {}

    // Returns the work of one rank of a team in the stage of `spec`. `migrations` are the team's migrations,
    // and `first_rank` is the team's first rank. The reference stays valid as long as this object.
    const plan::StageWork& find(const stage::StageSpec& spec, const std::vector<layout::Migration>& migrations,
                                int first_rank);

private:
    const model::ModelConfig& model_;
    device::DType dtype_;
    bool cuts_rows_;
    double resizing_limit_;
    layout::Spread spread_;
    std::map<std::string, plan::StageWork> work_by_key_;
};

}  // namespace trireme::setup
