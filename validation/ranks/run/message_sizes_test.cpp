// Steps with micro-batches of many shapes send exactly the bytes that the planned steps imply.
#include <random>
#include <set>

#include "ranks/run/started_run.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::run {
namespace {

constexpr std::size_t positions = 64;

std::vector<std::size_t> draw_lengths() {
    std::mt19937_64 random(1);
    std::vector<std::size_t> lengths;
    while (lengths.size() < 500) lengths.push_back(1 + random() % positions);
    return lengths;
}

struct SentBytes {
    std::size_t activations = 0;  // to the next stages
    std::size_t gradients = 0;    // to the previous stages

    friend bool operator==(const SentBytes&, const SentBytes&) = default;
};

class MessageSizes : public validation::StartedRun {
protected:
    MessageSizes() : StartedRun(draw_lengths()) {
        config_.model.layers = 4;
        config_.model.width = 16;
        config_.model.heads = 4;
        config_.model.positions = positions;
        config_.precision.device = config::DeviceKind::cpu;
        config_.run.batch = 32;
    }

    // Trains until micro-batches have had 200 shapes. Compares the bytes of each step.
    void expect_planned_bytes(plan::LengthPolicy length, int pipe, int data, std::size_t microbatches,
                              int frozen = 0) {
        config_.schedule.length = length;
        config_.schedule.microbatches = microbatches;
        config_.layout.pipe = pipe;
        config_.layout.data = data;
        config_.layout.frozen = frozen;
        start_with_watched_groups();
        setup::StepPlanner planner(setup_->job, setup_->current);
        constexpr std::size_t max_steps = 200;
        trainer_->begin_segment(0, max_steps);
        std::set<plan::MicrobatchShape> shapes;
        std::size_t step = 0;
        for (; step < max_steps && shapes.size() < 200; ++step) {
            trainer_->step();
            const std::vector<stage::BatchShape> step_shapes = planner.list_shapes(step);
            for (const stage::BatchShape& shape : step_shapes) shapes.insert(setup::count_shape(shape));
            ASSERT_EQ(find_sent_bytes(), find_planned_bytes(step_shapes)) << "step " << step;
        }
        EXPECT_GE(shapes.size(), 200U) << "after " << step << " steps";
        trainer_->drain();
    }

private:
    void start_with_watched_groups() {
        trainer_.reset();
        setup_.emplace(setup::set_up(config_, session_.size()));
        device::Stream stream = rank::make_stream(config_.precision.device, 1, {});
        stream.expect_seconds = make_relative_kernel_seconds(setup_->job, 0);
        rank::RankGroups groups =
            rank::make_groups(session_, setup_->current.plan, setup_->current.gradients.buckets,
                              {.wait_policy = watchdog_.wait_policy()});
        activations_ = groups.activations.get();
        gradients_ = groups.gradients.get();
        trainer_.emplace(setup_->job, setup_->current,
                         rank::TrainingRank{.rank = session_.rank(), .stream = std::move(stream)},
                         std::move(groups));
        trainer_->fill({});
    }

    // Returns the bytes that this rank has sent in the last step.
    SentBytes find_sent_bytes() const {
        return {activations_->traffic().bytes_sent, gradients_->traffic().bytes_sent};
    }

    SentBytes find_planned_bytes(const std::vector<stage::BatchShape>& microbatches) const {
        const plan::Plan& plan = setup_->current.plan;
        const schedule::PipelineShape& shape = plan.training.shape;
        const int team = plan.find_team(session_.rank());
        SentBytes bytes;
        for (int stage = 0; stage < shape.stages(); ++stage) {
            for (int m = 0; m < shape.microbatches; ++m) {
                if (shape.find_executor(stage, m) != team) continue;
                const std::size_t message_bytes =
                    microbatches[static_cast<std::size_t>(m)].rows * setup_->job.model.width * sizeof(float);
                if (stage + 1 < shape.stages()) bytes.activations += message_bytes;
                if (stage > shape.first_trained_stage) bytes.gradients += message_bytes;
            }
        }
        return bytes;
    }

    const comm::Communicator* activations_ = nullptr;
    const comm::Communicator* gradients_ = nullptr;
};

TEST_F(MessageSizes, FollowFromThePlannedStep) {
    if (session_.size() != 4) GTEST_SKIP() << "for 4 ranks";
    expect_planned_bytes(plan::LengthPolicy::dynapipe, 2, 2, 4);
    expect_planned_bytes(plan::LengthPolicy::dynapipe, 4, 1, 8);
    expect_planned_bytes(plan::LengthPolicy::balanced, 4, 1, 8);
    expect_planned_bytes(plan::LengthPolicy::balanced, 4, 1, 8, 3);
}

}  // namespace
}  // namespace trireme::run
