// Derives the kernels of a stage, as functions of the shape of a micro-batch, from passes with ghost tensors.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "trireme/layout/migration.hpp"
#include "trireme/model/config.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/plan/stage_work.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

class ProbedStage;

// Returns the counts (samples, rows and others) of a micro-batch of shape `shape`.
plan::MicrobatchShape count_shape(const stage::BatchShape& shape);

// Returns `predict_seconds` as a function with the signature that plan::StageWork calls. `speed` is the speed
// of the clock as a fraction of the speed of the highest clock.
plan::KernelSeconds adapt_kernel_seconds(device::KernelTimePredictor predict_seconds, double speed = 1);

// Returns the properties of the passes of a plan. `migrations` are those of a team.
stage::PassVariant make_pass_variant(const plan::Plan& plan, device::DType dtype,
                                     std::vector<layout::Migration> migrations = {});

// Returns the work of a stage. The costs of all kernels are linear in the counts of a shape, until the counts
// reach a limit. The limits are the rows of each embedding table and the rows of a tile of logits.
// `variant.halves` is ignored.
plan::StageWork derive_stage_work(const model::ModelConfig& model, const stage::StageSpec& spec,
                                  const stage::PassVariant& variant);

// The work of stages of one model, for any number of plans. Stages and ranks with equal work share one
// plan::StageWork.
class StageWorks {
public:
    explicit StageWorks(const model::ModelConfig& model);  // kept by reference
    ~StageWorks();

    // Returns the work of one rank of a team, which is equal to that of derive_stage_work(). Derives it from
    // the work of stages with few blocks, because the blocks of a stage have equal work, apart from the first
    // and the last ones. The reference stays valid as long as this object.
    const plan::StageWork& find(const stage::StageSpec& spec, const stage::PassVariant& variant);

private:
    plan::StageWork derive(const stage::StageSpec& spec, const stage::PassVariant& variant);
    const ProbedStage& probe_without(std::size_t frozen, std::size_t trained, const stage::StageSpec& spec,
                                     const stage::PassVariant& variant);

    const model::ModelConfig& model_;
    std::map<std::string, plan::StageWork> work_by_key_;
    std::map<std::string, std::unique_ptr<const ProbedStage>> probed_by_key_;  // stages with few blocks
};

}  // namespace trireme::setup
