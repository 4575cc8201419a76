#include "trireme/setup/model_work.hpp"

#include <algorithm>

#include "trireme/model/model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::setup {
namespace {

// Returns the part of the first rank of the smallest team, as if the shares were even.
model::TensorPart make_even_part(const plan::Plan& plan) {
    std::size_t min_ranks = plan.teams.front().ranks.size();
    for (const layout::Team& team : plan.teams) min_ranks = std::min(min_ranks, team.ranks.size());
    return {.rank = 0, .shares = std::vector<std::size_t>(min_ranks, 1)};
}

// Returns the mean shape of the micro-batches of the first steps.
plan::MicrobatchShape compute_typical_shape(const Job& job, const PlanState& current) {
    constexpr std::size_t steps = 8;
    StepPlanner planner(job, current);
    std::vector<plan::MicrobatchShape> shapes;
    for (std::size_t step = 0; step < steps; ++step) {
        for (const stage::BatchShape& shape : planner.list_shapes(step)) shapes.push_back(count_shape(shape));
    }
    return plan::compute_mean_shape(shapes);
}

// Predicts the work of one layer at a time.
class LayerWorkPredictor {
public:
    LayerWorkPredictor(const Job& job, const PlanState& current)
        : job_(job),
          current_(current),
          part_(make_even_part(current.plan)),
          shape_(compute_typical_shape(job, current)),
          seconds_(adapt_kernel_seconds(make_relative_kernel_seconds(job, 0))) {
        // Number of replicas that share the optimizer state of a parameter, in the stage with the fewest
        // replicas.
        const double updating_replicas =
            current.plan.shards_optimizer ? find_min_replicas(current.plan.layout) : 1;
        const double state_values =
            static_cast<double>(count_state_values(job.config.optimizer, job.dtype)) / updating_replicas;
        training_bytes_per_parameter_ =
            (1 + state_values) * static_cast<double>(byte_size(accumulator_type(job.dtype)));
    }

    policy::LayerWork predict_layer(std::size_t layer) const {
        const stage::StageSpec spec{.layers = {layer, 1},
                                    .part = part_,
                                    .recompute = find_recomputation(layer),
                                    .first_trained_layer = current_.plan.first_trained_layer()};
        const stage::PassVariant variant{.dtype = job_.dtype, .cuts_rows = current_.plan.cuts_rows};
        const stage::StageMemory memory =
            predict(job_.model, spec, current_.largest_microbatches.front(), variant);
        const plan::TrainingCosts costs =
            derive_stage_work(job_.model, spec, variant).predict_costs(shape_, seconds_);
        constexpr double picosecond = 1e-12;
        const auto count_seconds = [](const plan::PassCost& cost) {
            return picosecond * static_cast<double>(cost.kernel_picoseconds());
        };
        const double halves = count_seconds(costs.backward_input) + count_seconds(costs.backward_weight);
        return {
            .matmuls = picosecond * static_cast<double>(costs.forward.matmul_picoseconds +
                                                        costs.backward.matmul_picoseconds),
            .other_kernels = picosecond * static_cast<double>(costs.forward.other_picoseconds +
                                                              costs.backward.other_picoseconds),
            .forward = count_seconds(costs.forward),
            .backward_weight =
                halves > 0 ? count_seconds(costs.backward) * count_seconds(costs.backward_weight) / halves : 0,
            .state_bytes = count_state_bytes(spec),
            .activation_bytes = memory.activations,
            .workspace_bytes = memory.scratch + memory.block_activations + memory.exchange};
    }

private:
    // Returns the number of replicas of the stage with the fewest replicas.
    static double find_min_replicas(const layout::Layout& layout) {
        std::size_t min_replicas = layout.stages.front().replicas.size();
        for (const layout::StageLayout& stage : layout.stages)
            min_replicas = std::min(min_replicas, stage.replicas.size());
        return static_cast<double>(min_replicas);
    }

    plan::Recompute find_recomputation(std::size_t layer) const {
        const std::vector<layout::StageLayout>& stages = current_.plan.layout.stages;
        const auto stage = std::ranges::find_if(
            stages, [&](const layout::StageLayout& each) { return layer < each.layers.end(); });
        return current_.plan.recompute[static_cast<std::size_t>(stage - stages.begin())];
    }

    // Returns the bytes of the state of a layer on one rank: values and, of trained parameters, gradients and
    // the rank's shard of the optimizer state.
    std::size_t count_state_bytes(const stage::StageSpec& spec) const {
        double bytes = 0;
        for (const model::ParameterSpec& parameter : stage::Stage(job_.model, spec).parameters())
            bytes += static_cast<double>(parameter.size()) *
                     (static_cast<double>(byte_size(job_.dtype)) +
                      (parameter.is_trained ? training_bytes_per_parameter_ : 0));
        return static_cast<std::size_t>(bytes);
    }

    const Job& job_;
    const PlanState& current_;
    model::TensorPart part_;
    plan::MicrobatchShape shape_;
    plan::KernelSeconds seconds_;
    double training_bytes_per_parameter_ = 0;  // gradient, and the rank's shard of the optimizer state
};

}  // namespace

std::vector<policy::LayerWork> predict_layer_work(const Job& job, const PlanState& current) {
    const LayerWorkPredictor predictor(job, current);
    std::vector<policy::LayerWork> work;
    const std::size_t layers = build_layers(job.model).size();
    while (work.size() < layers) work.push_back(predictor.predict_layer(work.size()));
    return work;
}

device::KernelTimePredictor make_typical_kernel_seconds() {
    return [](const device::Cost& cost, double clock) {
        return device::DeviceRates{.flops = 160e9, .bandwidth = 10e9}.seconds(cost, clock);
    };
}

device::KernelTimePredictor make_kernel_seconds(const Job& job, int rank) {
    return job.devices ? make_relative_kernel_seconds(job, rank) : device::KernelTimePredictor{};
}

device::KernelTimePredictor make_relative_kernel_seconds(const Job& job, int rank) {
    if (const ProfiledKernels* const profiled = job.kernels.find_kernels(rank))
        return make_kernel_seconds(*profiled);
    return job.devices ? make_kernel_seconds(job.devices, rank) : make_typical_kernel_seconds();
}

}  // namespace trireme::setup
