// The GPU memory of a rank is allocated before the first step and equals the prediction.
#include "emulated_gpu/memory.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ranks/run/started_run.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme {
namespace {

using validation::StartedRun;

// A number of ranks, and the options in which a run differs from the other runs.
struct Variant {
    std::string name;
    int ranks;
    std::function<void(config::RunConfig&)> choose;
};

std::vector<Variant> variants() {
    return {
        {"one rank", 1, [](config::RunConfig&) {}},
        {"packed rows", 1, [](config::RunConfig& c) { c.schedule.length = plan::LengthPolicy::pack; }},
        {"short numbers", 1, [](config::RunConfig& c) { c.precision.dtype = config::Precision::bf16; }},
        {"no moments", 1, [](config::RunConfig& c) { c.optimizer.kind = optim::OptimizerKind::sgd; }},
        {"a copy for checkpoints", 1, [](config::RunConfig& c) { c.run.checkpoint_every = 1; }},
        {"micro-batches", 1, [](config::RunConfig& c) { c.schedule.microbatches = 4; }},
        {"recompute", 1, [](config::RunConfig& c) { c.layout.recompute = {plan::Recompute::full}; }},
        {"frozen block", 1, [](config::RunConfig& c) { c.layout.frozen = 1; }},
        {"stages", 2,
         [](config::RunConfig& c) {
             c.layout.pipe = 2;
             c.schedule.microbatches = 4;
         }},
        {"frozen stage in short numbers", 2,
         [](config::RunConfig& c) {
             c.layout.pipe = 2;
             c.layout.frozen = 1;
             c.layout.recompute = {plan::Recompute::full};
             c.schedule.microbatches = 4;
             c.precision.dtype = config::Precision::bf16;
         }},
        {"stages and recompute", 2,
         [](config::RunConfig& c) {
             c.layout.pipe = 2;
             c.layout.recompute = {plan::Recompute::selective};
         }},
        {"halves", 2,
         [](config::RunConfig& c) {
             c.layout.pipe = 2;
             c.schedule.microbatches = 4;
             c.schedule.schedule = "zb-h1";
         }},
        {"steps in flight", 2,
         [](config::RunConfig& c) {
             c.layout.pipe = 2;
             c.schedule.microbatches = 2;
             c.schedule.schedule = "pipedream-2bw";
         }},
        {"replicas", 2, [](config::RunConfig&) {}},
        {"replicas in short numbers", 2,
         [](config::RunConfig& c) { c.precision.dtype = config::Precision::bf16; }},
        {"replicas with all moments", 2, [](config::RunConfig& c) { c.layout.shard_optimizer = false; }},
        {"shares", 2, [](config::RunConfig& c) { c.layout.tensor = 2; }},
        {"shares of rows", 2,
         [](config::RunConfig& c) {
             c.layout.tensor = 2;
             c.layout.sequence_parallel = true;
         }},
        {"stages and replicas", 4,
         [](config::RunConfig& c) {
             c.layout.pipe = 2;
             c.schedule.microbatches = 4;
         }},
        {"stages and shares in short numbers", 4,
         [](config::RunConfig& c) {
             c.layout.pipe = c.layout.tensor = 2;
             c.precision.dtype = config::Precision::bf16;
         }},
    };
}

class GpuMemory : public StartedRun {
protected:
    // The tensors of the model are much larger than the memory of every stream.
    GpuMemory() : StartedRun({16, 12, 16, 10, 16, 15, 16, 16, 8, 16, 16, 16}) {
        config_.data.validation_fraction = 0.25;
        config_.model.width = 32;
        config_.model.heads = 2;
        config_.model.positions = 16;
        config_.precision.device = config::DeviceKind::cuda;
        plain_ = config_;
    }

    void start(const Variant& variant) {
        config_ = plain_;
        variant.choose(config_);
        device::reset_peak_gpu_bytes();
        StartedRun::start();
    }

    // Runs a step, an evaluation and two more steps. Returns the number of allocations in them.
    std::size_t train() {
        trainer_->begin_segment(0, 1);
        const std::size_t before = emulated::times_memory_was_taken();
        trainer_->step();
        trainer_->evaluate(*control_);
        trainer_->begin_segment(1, 3);
        trainer_->step();
        trainer_->step();
        return emulated::times_memory_was_taken() - before;
    }

    std::size_t predicted() const {
        const bool saves = config_.run.checkpoint_every > 0;
        const setup::PlanState& current = setup_->current;
        return setup::predict_rank_memory({setup_->job, current}, &config_.optimizer, current.gradients,
                                          session_.rank(), saves)
            .total();
    }

    std::vector<Variant> variants_of_job_size() const {
        std::vector<Variant> all = variants();
        std::erase_if(all, [this](const Variant& variant) { return variant.ranks != session_.size(); });
        return all;
    }

private:
    config::RunConfig plain_;
};

TEST_F(GpuMemory, MatchesPredictionAndIsAllocatedBeforeTheFirstStep) {
    ASSERT_FALSE(variants_of_job_size().empty());
    for (const Variant& variant : variants_of_job_size()) {
        start(variant);

        EXPECT_EQ(train(), 0U) << variant.name;

        const auto of_streams = static_cast<double>(kernels::count_gpu_stream_bytes());
        const double measured = static_cast<double>(device::peak_gpu_bytes()) - of_streams;
        EXPECT_NEAR(static_cast<double>(predicted()) - of_streams, measured, 0.01 * measured) << variant.name;
        trainer_.reset();
    }
}

}  // namespace
}  // namespace trireme
