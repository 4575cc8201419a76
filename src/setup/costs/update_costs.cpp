#include "setup/costs/update_costs.hpp"

#include "trireme/optim/optimizer.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::setup {

double predict_update_seconds(const PricedPlan& priced, const Machine& machine, const stage::StageSpec& spec,
                              std::size_t replicas, std::size_t kind) {
    const plan::KernelSeconds& kernel_seconds = machine.kernel_seconds[kind];
    const auto value_bytes = static_cast<double>(byte_size(priced.dtype));
    const auto state_bytes = static_cast<double>(byte_size(accumulator_type(priced.dtype)));
    // The update reads the gradient, and reads and writes the state and the value. With master
    // weights, the update also writes the rounded weights.
    const bool has_master_weights = optim::has_master_weights(priced.dtype);
    const double update_bytes =
        state_bytes * (1 + 2 * static_cast<double>(1 + optim::count_moments(priced.optimizer))) +
        (has_master_weights ? value_bytes : 0);
    const char* const update = priced.optimizer.kind == optim::OptimizerKind::adamw ? "adamw" : "sgd";
    const auto all_replicas = static_cast<double>(replicas);
    const double updating_replicas = priced.plan.shards_optimizer ? all_replicas : 1;
    double seconds = 0;
    double all_elements = 0;
    for (const std::size_t size : list_trained_sizes(priced.model, spec)) {
        const auto elements = static_cast<double>(size);
        seconds += kernel_seconds(update, {.bytes = elements / updating_replicas * update_bytes}) +
                   kernel_seconds("sum_of_squares", {.bytes = elements / all_replicas * state_bytes});
        all_elements += elements;
    }
    if (all_elements == 0) return 0;
    const double gradient_bytes = all_elements * state_bytes;
    if (replicas > 1)  // a rank reads the gradients of all replicas for its shard, and writes the sum
        seconds += kernel_seconds("copy", {.bytes = gradient_bytes * (all_replicas + 1) / all_replicas});
    return seconds + kernel_seconds("fill", {.bytes = gradient_bytes});
}

double predict_backup_seconds(const PricedPlan& priced, const Machine& machine, const stage::StageSpec& spec,
                              std::size_t replicas, std::size_t kind) {
    if (!priced.plan.training.shape.has_speculative_updates) return 0;
    const double updating_replicas = priced.plan.shards_optimizer ? static_cast<double>(replicas) : 1;
    const auto state_values = static_cast<double>(optim::count_state_values(priced.optimizer, priced.dtype));
    double seconds = 0;
    for (const std::size_t size : list_trained_sizes(priced.model, spec)) {
        const double elements = static_cast<double>(size) / updating_replicas;
        const auto copy_seconds = [&](device::DType dtype) {
            const double bytes = 2 * elements * static_cast<double>(byte_size(dtype));
            return machine.kernel_seconds[kind]("copy", {.bytes = bytes});
        };
        seconds += copy_seconds(priced.dtype) + state_values * copy_seconds(accumulator_type(priced.dtype));
    }
    return seconds;
}

}  // namespace trireme::setup
