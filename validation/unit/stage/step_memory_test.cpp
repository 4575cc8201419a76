#include "trireme/stage/step_memory.hpp"

#include <gtest/gtest.h>

#include "trireme/base/numbers.hpp"
#include "unit/stage/small_models.hpp"

namespace trireme::stage {
namespace {

BatchShape make_batch(std::size_t samples, std::size_t length) {
    BatchShape batch{.segments = {}, .rows = samples * length};
    for (std::size_t s = 0; s < samples; ++s) batch.segments.push_back({.begin = s * length, .length = length});
    return batch;
}

struct PlannerCase {
    SmallModel model = {};
    plan::Recompute recompute = plan::Recompute::none;
    bool cuts_rows = false;
};

std::vector<PlannerCase> list_cases() {
    std::vector<PlannerCase> cases;
    for (const SmallModel model : list_small_models()) {
        for (const plan::Recompute recompute :
             {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
            for (const bool cuts_rows : {false, true}) cases.push_back({model, recompute, cuts_rows});
        }
    }
    return cases;
}

// The planner predicts one block of each kind; predict() runs the passes of whole stages.
TEST(StepMemoryPlanner, PredictsStagesLikePassesOfWholeStages) {
    for (const auto& [model, recompute, cuts_rows] : list_cases()) {
        SCOPED_TRACE(testing::PrintToString(model));
        model::ModelConfig config = config_of(model);
        config.groups = 0;  // enough heads for two tensor ranks
        const std::size_t layers = build_layers(config).size();
        const model::TensorPart part =
            cuts_rows ? model::TensorPart{.rank = 1, .shares = {1, 1}} : model::TensorPart{};
        LocalWork work{.model = config, .stages = {0, 1}, .variant = {.cuts_rows = cuts_rows}};
        work.specs = {{.layers = {0, 3}, .part = part, .recompute = recompute},
                      {.layers = {3, layers - 3}, .part = part, .recompute = recompute}};
        StepMemoryPlanner planner(work);
        for (const bool is_split : {false, true}) {
            if (is_split && recompute == plan::Recompute::full) continue;
            const PassVariant variant{.cuts_rows = cuts_rows,
                                      .halves = is_split ? BackwardHalves::apart : BackwardHalves::together};
            for (const BatchShape& batch :
                 config.reads_images()
                     ? std::array{make_batch(2, config.positions), make_batch(3, config.positions)}
                     : std::array{make_batch(2, 6), make_batch(3, 5)}) {
                for (std::size_t s = 0; s < 2; ++s) {
                    const StageMemory stage = predict_training(config, work.specs[s], batch, variant).peak;
                    const StageMemory planned =
                        planner
                            .predict_stage(s, batch, is_split ? BackwardPasses::split : BackwardPasses::whole)
                            .peak;
                    const std::size_t rounding = 64 * layers;
                    EXPECT_GE(planned.activations, stage.activations);
                    EXPECT_LE(planned.activations, stage.activations + rounding);
                    EXPECT_GE(planned.scratch, stage.scratch);
                    EXPECT_GE(planned.exchange, stage.exchange);
                    EXPECT_EQ(planned.block_activations, stage.block_activations);
                    if (!is_split) {
                        EXPECT_EQ(planned.count_workspace_bytes(), stage.count_workspace_bytes());
                    }
                    const StageMemory evaluation = predict_evaluation(config, work.specs[s], batch, variant);
                    EXPECT_EQ(planner.predict_stage(s, batch, BackwardPasses::none).peak.activations,
                              evaluation.activations);
                }
            }
        }
    }
}

}  // namespace
}  // namespace trireme::stage
