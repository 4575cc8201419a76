#include "trireme/setup/model_work.hpp"

#include <algorithm>

#include "trireme/model/model.hpp"
#include "trireme/optim/optimizer.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// Returns a function that predicts kernel times in an arbitrary unit, for a device with unknown rates. Only the
// ratio of the FLOP rate to the memory bandwidth matters. The chosen ratio is typical of a CPU core.
device::KernelTimePredictor make_typical_kernel_seconds() {
    constexpr double flops_per_byte = 16;
    return [](const device::Cost& cost, double clock) {
        return device::DeviceRates{.flops = flops_per_byte, .bandwidth = 1}.seconds(cost, clock);
    };
}

// Returns the part of the first rank of the smallest team, as if the shares were even.
model::TensorPart make_even_part(const plan::Plan& plan) {
    std::size_t min_ranks = plan.teams.front().ranks.size();
    for (const layout::Team& team : plan.teams) min_ranks = std::min(min_ranks, team.ranks.size());
    return {.rank = 0, .shares = std::vector<std::size_t>(min_ranks, 1)};
}

// Predicts the total time of the calls of `entry`, as if each call had the mean cost of these calls.
double predict_seconds(const device::Ledger::Entry& entry,
                       const device::KernelTimePredictor& predict_kernel_seconds) {
    device::Cost mean_cost = entry.total_cost;
    const auto calls = static_cast<double>(entry.calls);
    mean_cost.flops /= calls;
    mean_cost.bytes /= calls;
    return calls * predict_kernel_seconds(mean_cost, 1);
}

// Predicts the work of one layer at a time.
class LayerWorkPredictor {
public:
    LayerWorkPredictor(const Job& job, const PlanState& current)
        : job_(job),
          current_(current),
          part_(make_even_part(current.plan)),
          predict_kernel_seconds_(make_kernel_seconds(job, 0)) {
        if (!predict_kernel_seconds_) predict_kernel_seconds_ = make_typical_kernel_seconds();
        // Number of replicas that share the optimizer state of a parameter, in the stage with the fewest.
        const double updating_replicas =
            current.plan.shards_optimizer ? find_min_replicas(current.plan.layout) : 1;
        const double state_values =
            static_cast<double>(count_state_values(job.config.optimizer, job.dtype)) / updating_replicas;
        bytes_per_parameter_ = static_cast<double>(byte_size(job.dtype)) +
                               (1 + state_values) * static_cast<double>(byte_size(accumulator_type(job.dtype)));
    }

    // `is_block` is true if the layer is half of a transformer block.
    policy::LayerWork predict_layer(std::size_t layer, bool is_block) const {
        const stage::StageSpec spec{
            .layers = {layer, 1}, .part = part_, .recompute = current_.plan.recompute.front()};
        const stage::PassVariant variant{.dtype = job_.dtype, .cuts_rows = current_.plan.cuts_rows};
        const stage::BatchShape& shape = current_.largest_microbatches.front();
        const stage::StageMemory memory = predict(job_.model, spec, shape, variant);
        policy::LayerWork work{
            .matmuls = 0,
            .state_bytes = static_cast<std::size_t>(bytes_per_parameter_ * count_parameters(layer)),
            .activation_bytes = memory.activations,
            .workspace_bytes = memory.scratch + memory.block_activations + memory.exchange};
        const device::Ledger ledger = predict_pass_work(job_.model, spec, shape, variant);
        for (const device::Ledger::Entry& entry : ledger.entries()) {
            const bool is_block_matmul = is_block && entry.total_cost.is_weight_matmul();
            (is_block_matmul ? work.matmuls : work.other_kernels) +=
                predict_seconds(entry, predict_kernel_seconds_);
        }
        return work;
    }

private:
    // Returns the number of replicas of the stage with the fewest replicas.
    static double find_min_replicas(const layout::Layout& layout) {
        std::size_t min_replicas = layout.stages.front().replicas.size();
        for (const layout::StageLayout& stage : layout.stages)
            min_replicas = std::min(min_replicas, stage.replicas.size());
        return static_cast<double>(min_replicas);
    }

    // Returns the number of parameters of a layer on one rank.
    double count_parameters(std::size_t layer) const {
        std::size_t parameters = 0;
        for (const model::ParameterSpec& spec :
             trireme::model::list_parameters(build_layers(job_.model, part_)[layer]))
            parameters += spec.size();
        return static_cast<double>(parameters);
    }

    const Job& job_;
    const PlanState& current_;
    model::TensorPart part_;
    device::KernelTimePredictor predict_kernel_seconds_;
    double bytes_per_parameter_ = 0;  // value, gradient, and the rank's shard of the optimizer state
};

}  // namespace

std::vector<policy::LayerWork> predict_layer_work(const Job& job, const PlanState& current) {
    const LayerWorkPredictor predictor(job, current);
    std::vector<policy::LayerWork> work;
    for (const layout::LayerFacts& layer : list_layer_facts(job.model))
        work.push_back(predictor.predict_layer(work.size(), layer.is_block));
    return work;
}

device::KernelTimePredictor make_kernel_seconds(const Job& job, int rank) {
    const ProfiledKernels* const profiled = job.kernels.find_kernels(rank);
    return profiled ? make_kernel_seconds(*profiled) : make_kernel_seconds(job.devices, rank);
}

}  // namespace trireme::setup
