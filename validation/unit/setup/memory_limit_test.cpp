#include "trireme/setup/memory_limit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "unit/setup/small_plans.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using validation::grid;
using validation::says;

const std::vector<kernels::Segment> one_sample{{.begin = 0, .length = 256, .sample = 0}};
const std::vector<stage::BatchShape> batches{{.segments = one_sample, .rows = 256}};

model::ModelConfig tiny_gpt2() {
    model::ModelConfig model = model::find_named_model("gpt2-tiny");
    model.vocabulary = 256;
    return model;
}

config::RunConfig make_config(int pipe, const std::string& schedule) {
    config::RunConfig config = grid(pipe, 1, 1);
    config.schedule.schedule = schedule;
    config.schedule.microbatches = 8;
    return config;
}

std::size_t max_bytes(const plan::Plan& plan, const config::RunConfig& config, const model::ModelConfig& model,
                      bool trains = true) {
    const SizedPlan sized(model, plan, device::DType::f32, batches);
    const stage::GradientPlan gradients = make_gradient_plan(sized);
    std::size_t most = 0;
    for (int rank = 0; rank < config.layout.pipe; ++rank) {
        const optim::OptimizerConfig* optimizer = trains ? &config.optimizer : nullptr;
        most = std::max(most, predict_rank_memory(sized, optimizer, gradients, rank).total());
    }
    return most;
}

plan::Plan within_limit(const config::RunConfig& config, const model::ModelConfig& model, bool trains = true) {
    const int ranks = config.layout.pipe;
    return fit_to_memory_limit(plan_run(config, model, ranks), {.config = config,
                                                                .model = model,
                                                                .request = make_plan_request(config),
                                                                .ranks = ranks,
                                                                .dtype = device::DType::f32,
                                                                .largest_microbatches = batches,
                                                                .trains = trains});
}

double duration(const plan::Plan& plan) {
    const std::vector<schedule::StageCost> equal(plan.layout.stages.size());
    return predict_step(plan.training.phases(), plan.training.shape, equal).seconds;
}

bool has_halves(const plan::Plan& plan) {
    return std::any_of(
        plan.training.programs.begin(), plan.training.programs.end(), [](const schedule::Program& program) {
            return std::any_of(program.begin(), program.end(), [](const schedule::Instruction& each) {
                return each.op == schedule::Op::backward_input;
            });
        });
}

TEST(MemoryLimit, DoesNotChangeAPlanThatFits) {
    const model::ModelConfig model = tiny_gpt2();
    config::RunConfig config = make_config(4, "auto");
    const plan::Plan plan = plan_run(config, model, 4);

    EXPECT_EQ(compute_hash(within_limit(config, model)), compute_hash(plan));
    config.layout.memory_limit = max_bytes(plan, config, model);
    EXPECT_EQ(compute_hash(within_limit(config, model)), compute_hash(plan));
}

TEST(MemoryLimit, RejectsAFixedScheduleThatExceedsIt) {
    const model::ModelConfig model = tiny_gpt2();
    config::RunConfig config = make_config(2, "gpipe");
    const std::size_t needed = max_bytes(plan_run(config, model, 2), config, model);

    config.layout.memory_limit = needed - 1;

    const std::string refusal = catch_message<ConfigError>([&] { within_limit(config, model); });
    EXPECT_TRUE(
        says(refusal, "with schedule gpipe, which keeps 8 micro-batches in flight, but --memory-limit is"))
        << refusal;
    EXPECT_TRUE(says(refusal, "raise it, or use")) << refusal;
    EXPECT_TRUE(says(refusal, "or --schedule auto")) << refusal;
}

// A searched plan may need more memory than 1F1B for rows in flight between teams.
TEST(MemoryLimit, AllowsAFasterPlanThan1F1BWithLittleMoreMemory) {
    const model::ModelConfig model = tiny_gpt2();
    const config::RunConfig fixed = make_config(4, "1f1b");
    const plan::Plan one_f_one_b = plan_run(fixed, model, 4);
    config::RunConfig config = make_config(4, "auto");
    const plan::Plan free = plan_run(config, model, 4);

    config.layout.memory_limit = max_bytes(one_f_one_b, fixed, model) + (1 << 20);
    const plan::Plan plan = within_limit(config, model);

    EXPECT_GT(max_bytes(free, config, model), config.layout.memory_limit);
    EXPECT_LE(max_bytes(plan, config, model), config.layout.memory_limit);
    EXPECT_LT(duration(free), duration(plan));
    EXPECT_LT(duration(plan), duration(one_f_one_b));
    EXPECT_TRUE(has_halves(plan));  // where memory allows them
}

// A backward pass in halves keeps more memory than an unsplit one.
TEST(MemoryLimit, KeepsBackwardPassesUnsplitIfMemoryIsShort) {
    const model::ModelConfig model = tiny_gpt2();
    config::RunConfig config = make_config(1, "auto");
    config.schedule.schedule = "1f1b";
    config.layout.memory_limit = max_bytes(plan_run(config, model, 1), config, model);
    config.schedule.schedule = "auto";

    EXPECT_FALSE(has_halves(within_limit(config, model)));
}

TEST(MemoryLimit, IsRejectedIfEvenTheSmallestPlanExceedsIt) {
    const model::ModelConfig model = tiny_gpt2();
    config::RunConfig config = make_config(4, "inter-layer");
    const std::size_t leanest = max_bytes(plan_run(config, model, 4), config, model);
    config.schedule.schedule = "auto";

    config.layout.memory_limit = leanest;
    EXPECT_EQ(max_bytes(within_limit(config, model), config, model), leanest);
    config.layout.memory_limit = leanest - 1;
    const std::string refusal = catch_message<ConfigError>([&] { within_limit(config, model); });
    EXPECT_TRUE(
        says(refusal, "with schedule auto, which keeps only 1 micro-batch in flight, but --memory-limit is"))
        << refusal;
}

TEST(MemoryLimit, ExcludesGradientsAndMomentsInAnEvaluation) {
    const model::ModelConfig model = tiny_gpt2();
    config::RunConfig config = make_config(4, "1f1b");
    const plan::Plan plan = plan_run(config, model, 4);

    config.layout.memory_limit = max_bytes(plan, config, model, false);

    EXPECT_EQ(compute_hash(within_limit(config, model, false)), compute_hash(plan));
    EXPECT_THROW(within_limit(config, model, true), ConfigError);
}

}  // namespace
}  // namespace trireme::setup
