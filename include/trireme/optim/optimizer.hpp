// Updates the parameter shards of a rank from their gradients.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/layout/box.hpp"
#include "trireme/model/parameter.hpp"
#include "trireme/optim/config.hpp"

namespace trireme::optim {

// A box of one of this rank's parameters. This rank keeps the optimizer state of the box.
struct ParameterShard {
    std::size_t parameter = 0;  // index in the rank's list of parameters
    layout::Box box;            // relative to the rank's slice of the tensor

    friend bool operator==(const ParameterShard&, const ParameterShard&) = default;
};

// Returns a view of a shard. The view is not contiguous if the shard is narrower than the parameter.
device::Tensor view_shard(const model::ParameterTensors& tensors, const ParameterShard& shard);

// Returns one shard per trained parameter. Each shard covers the rank's whole slice of its parameter.
std::vector<ParameterShard> make_whole_shards(const std::vector<model::ParameterSpec>& specs);

// Returns the sum of squares of the gradients in each of `shards`; empty for a ghost stream. Temporaries come
// from `scratch`.
std::vector<double> list_sums_of_squares(device::Stream& stream, const model::ParameterTensors& gradients,
                                         const std::vector<ParameterShard>& shards, device::Arena& scratch);
// Returns the sum of these sums, added in the order of `shards`.
double compute_sum_of_squares(device::Stream& stream, const model::ParameterTensors& gradients,
                              const std::vector<ParameterShard>& shards, device::Arena& scratch);
// Returns the bytes that these functions allocate from `scratch` for this number of shards.
std::size_t count_norm_scratch_bytes(std::size_t shards);

// Returns the number of moments per element: 2 for AdamW, 1 for SGD with momentum, 0 for SGD without.
std::size_t count_moments(const OptimizerConfig& config);
// Returns true for bf16 values: the optimizer then keeps master weights. It updates the master weights and
// rounds them to get the bf16 values.
constexpr bool has_master_weights(device::DType value_type) {
    return accumulator_type(value_type) != value_type;
}

// Return the number of values that are stored per element of a parameter. count_state_values() counts moments
// and master weights, which are f32 or f64. count_stored_values() counts the same values and, with
// `has_backup`, the backup: one copy of each of these values and of the parameter value. The copy of the
// parameter value may be bf16.
std::size_t count_state_values(const OptimizerConfig& config, device::DType value_type);
std::size_t count_stored_values(const OptimizerConfig& config, device::DType value_type, bool has_backup);

// Input channels of a weight that all matmuls of a step have skipped. The gradient has no information on these
// channels.
struct SkippedInputChannels {
    // The channels are rows (in_out) or columns (out_in) of the rank's slice of the weight.
    kernels::WeightAxes axes = kernels::WeightAxes::in_out;
    std::vector<std::int32_t> channels = {};
};
using SkippedChannelMap = std::map<std::size_t, SkippedInputChannels>;  // key: index of the parameter

// AdamW or SGD for some shards of this rank's parameters.
class Optimizer {
public:
    // Makes an optimizer that updates `shards` and keeps state only for these shards. `value_type` is the type
    // of the parameter values. With `has_backup`, also allocates memory for a copy of the state and of the
    // values. With `state_memory`, which is filled with zeros, the state is placed as by place_state().
    Optimizer(const OptimizerConfig& config, const std::vector<model::ParameterSpec>& specs,
              std::vector<ParameterShard> shards, device::DType value_type, device::MemorySpace memory_space,
              bool has_backup = false, device::BufferPart state_memory = {});

    // Makes the contents of `memory` the state, one kind after the other. Without a buffer, forgets the state
    // until the next call.
    void place_state(device::BufferPart memory);

    // Updates the shards once, with learning rate `rate` and with the gradients multiplied by `gradient_scale`.
    // Weight decay is not applied to the channels in `skipped` (may be null). The moments of these channels
    // still change the weights.
    void update(device::Stream& stream, const model::ParameterTensors& values,
                const model::ParameterTensors& gradients, double rate, double gradient_scale,
                const SkippedChannelMap* skipped = nullptr);

    // save_backup() copies state and values before a speculative update; restore_backup() copies them back,
    // which rolls the update back bit for bit. Both require `has_backup`.
    void save_backup(device::Stream& stream, const model::ParameterTensors& values);
    void restore_backup(device::Stream& stream, const model::ParameterTensors& values);

    std::size_t bytes() const;  // of state and backup
    std::size_t count_moment_bytes() const;

    // Initializes the master weights of a parameter with `values`, the unrounded values of the rank's whole
    // slice. Requires master weights.
    void initialize_master_weights(device::Stream& stream, std::size_t parameter, const device::Tensor& values);

    // The state consists of tensors and of the number of updates of each parameter, which is 0 for frozen
    // parameters. state()[k][s] is moment k of shard s. If there are master weights, the last entry of
    // state() has them, one tensor per shard. A caller that restores a state writes into these tensors and
    // passes the numbers of updates to resume_from().
    const std::vector<std::size_t>& updates() const { return updates_; }
    const std::vector<model::ParameterSpec>& specs() const { return specs_; }
    const std::vector<ParameterShard>& shards() const { return shards_; }
    const std::vector<model::ParameterTensors>& state() const { return state_; }
    std::vector<model::ParameterTensors> take_state() { return std::move(state_); }
    void resume_from(std::vector<std::size_t> updates) { updates_ = std::move(updates); }

    // Returns the master weights, one tensor per shard, or null if there are none.
    const model::ParameterTensors* master_weights() const {
        return has_master_weights(value_type_) ? &state_.back() : nullptr;
    }

private:
    OptimizerConfig config_;
    std::vector<model::ParameterSpec> specs_;
    std::vector<ParameterShard> shards_;
    device::DType value_type_;
    // Moments, then master weights.
    std::vector<model::ParameterTensors> state_;
    std::vector<model::ParameterTensors> backup_;  // copies of the values, then of state_; empty without backup
    std::vector<std::size_t> updates_;             // per parameter
    std::vector<std::size_t> updates_of_backup_;   // as `updates_`
};

// Returns the factor that reduces the gradient norm `norm` to at most `clip`. The factor is never above 1;
// without clipping (`clip` is 0) it is 1.
double compute_clip_scale(double norm, double clip);

}  // namespace trireme::optim
