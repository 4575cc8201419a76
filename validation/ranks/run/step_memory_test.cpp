// Every step uses the memory that its micro-batches predict.
#include "trireme/stage/step_memory.hpp"

#include <random>

#include "ranks/run/started_run.hpp"
#include "trireme/rank/rank_model.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::run {
namespace {

constexpr std::size_t longest_sample = 64;

// A tenth of the samples are long, the others are short.
std::vector<std::size_t> draw_mixed_lengths() {
    std::mt19937_64 random(3);
    std::vector<std::size_t> lengths;
    while (lengths.size() < 400)
        lengths.push_back(random() % 10 == 0 ? longest_sample - random() % 8 : 1 + random() % 16);
    return lengths;
}

class StepMemory : public validation::StartedRun {
protected:
    StepMemory() : StartedRun(draw_mixed_lengths()) {
        config_.model.layers = 4;
        config_.model.width = 32;
        config_.model.heads = 4;
        config_.model.positions = longest_sample;
        config_.precision.device = config::DeviceKind::cpu;
        config_.run.batch = 16;
    }

    // Executes 24 steps. Compares the memory that this rank uses in each step with the prediction.
    void expect_predicted_bytes(plan::LengthPolicy length, const char* schedule, int pipe, int data, int tensor,
                                std::size_t microbatches, int frozen = 0) {
        SCOPED_TRACE(testing::Message() << schedule << ", " << frozen << " frozen");
        config_.schedule.length = length;
        config_.schedule.schedule = schedule;
        config_.schedule.microbatches = microbatches;
        config_.layout.pipe = pipe;
        config_.layout.data = data;
        config_.layout.tensor = tensor;
        config_.layout.frozen = frozen;
        const trireme::setup::Setup started = trireme::setup::set_up(config_, session_.size());
        const plan::Plan& plan = started.current.plan;
        rank::RankModel model(started.job, started.current, session_.rank(),
                              rank::make_groups(session_, plan, started.current.gradients.buckets,
                                                {.wait_policy = watchdog_.wait_policy()}));
        device::Stream stream = rank::make_stream(config_.precision.device, 1, {});
        model.fill(stream, 1, {});
        const stage::LocalWork work = setup::make_local_work({started.job, started.current}, session_.rank());
        stage::StepMemoryPlanner memory_planner(work);
        const schedule::Program program = plan.training.unroll_program(work.team, 1);
        setup::StepPlanner planner(started.job, started.current);
        std::size_t least = std::numeric_limits<std::size_t>::max();
        std::size_t most = 0;
        for (std::size_t step = 0; step < 24; ++step) {
            std::vector<data::Batch> batches;
            for (const plan::Microbatch& microbatch : planner.plan_step(step).microbatches)
                batches.push_back(build_batch(*started.job.corpus, started.job.samples.train,
                                              started.job.train_rules, microbatch));

            model.execute(stream, plan.training, batches);

            const std::size_t used = model.stages().peak_bytes();
            const std::size_t predicted =
                memory_planner.plan_step(program, work.team, plan.training.shape, planner.list_shapes(step))
                    .bytes;
            EXPECT_LE(used, predicted) << "step " << step;
            EXPECT_GE(static_cast<double>(used), 0.95 * static_cast<double>(predicted)) << "step " << step;
            least = std::min(least, predicted);
            most = std::max(most, predicted);
        }
        if (frozen == 0) {
            EXPECT_GT(most, least + least / 10);  // steps differ
        }
    }
};

TEST_F(StepMemory, EqualsThePredictionInEveryStep) {
    if (session_.size() != 4) GTEST_SKIP() << "for 4 ranks";
    expect_predicted_bytes(plan::LengthPolicy::pad, "1f1b", 4, 1, 1, 8);
    expect_predicted_bytes(plan::LengthPolicy::dynapipe, "gpipe", 2, 2, 1, 4);
    expect_predicted_bytes(plan::LengthPolicy::balanced, "zb-h1", 4, 1, 1, 8);
    expect_predicted_bytes(plan::LengthPolicy::pack, "1f1b", 2, 1, 2, 8);
    for (const int frozen : {1, 3})
        expect_predicted_bytes(plan::LengthPolicy::dynapipe, "1f1b", 4, 1, 1, 8, frozen);
}

}  // namespace
}  // namespace trireme::run
