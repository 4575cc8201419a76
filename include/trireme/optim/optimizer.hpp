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

// A part of one of the rank's parameters. `box` is relative to the rank's own part of the tensor.
struct ParameterShard {
    std::size_t parameter = 0;
    layout::Box box;

    friend bool operator==(const ParameterShard&, const ParameterShard&) = default;
};

// Returns a view of a shard. It is not contiguous if the shard is narrower than the parameter.
device::Tensor shard_of(const model::ParameterTensors& tensors, const ParameterShard& shard);

// Returns one shard per parameter that covers it whole.
std::vector<ParameterShard> whole_parameters(const std::vector<model::ParameterSpec>& specs);

// Returns the sum of squares of the gradients in `shards`, added in their order; 0 if there are none.
// Temporaries come from `scratch`.
double sum_of_squares(device::Stream& stream, const model::ParameterTensors& gradients,
                      const std::vector<ParameterShard>& shards, device::Arena& scratch);
// Returns the bytes that sum_of_squares() takes from `scratch` for this number of shards.
std::size_t norm_scratch_bytes(std::size_t shards);

// Returns the number of moments per parameter. For bf16 values the optimizer also keeps master weights, which
// it updates and then rounds.
std::size_t moments_of(const OptimizerConfig& config);
constexpr bool has_masters(device::DType values) { return wide_of(values) != values; }

// Return the number of wide values (f32 or f64) per parameter: those of moments and master weights, and those
// with a backup of these and of the parameter values (counted as wide).
std::size_t kept_of(const OptimizerConfig& config, device::DType values);
std::size_t numbers_kept(const OptimizerConfig& config, device::DType values, bool has_backup);

// Input channels of a weight that all matmuls of a step skipped, so its gradient carries no information on
// them.
struct LeftOut {
    // The channels are rows (in_out) or columns (out_in) of the rank's part of the weight.
    kernels::WeightAxes axes = kernels::WeightAxes::in_out;
    std::vector<std::int32_t> channels = {};
};
using LeftOuts = std::map<std::size_t, LeftOut>;  // by parameter number

class Optimizer {
public:
    // Updates `shards` and keeps state only for them. `values` is the type of the parameter values. A backup
    // takes as much memory again, plus a copy of the values.
    Optimizer(const OptimizerConfig& config, const std::vector<model::ParameterSpec>& specs,
              std::vector<ParameterShard> shards, device::DType values, device::MemorySpace place,
              bool has_backup = false);

    // Makes one update with gradients scaled by `gradient_scale`. Weight decay skips the channels in `left_out`
    // (may be null); their moments still change the weights.
    void update(device::Stream& stream, const model::ParameterTensors& values,
                const model::ParameterTensors& gradients, double rate, double gradient_scale,
                const LeftOuts* left_out = nullptr);

    // Save the state before a speculative update, and roll back that update bit for bit.
    void back_up(device::Stream& stream, const model::ParameterTensors& values);
    void restore(device::Stream& stream, const model::ParameterTensors& values);

    std::size_t bytes() const;

    // Initializes the master weights of a parameter with its whole unrounded `values`. Requires masters().
    void begin_with(device::Stream& stream, std::size_t parameter, const device::Tensor& values);

    // The state: the number of updates, and per shard the moments and then the master weights. A caller that
    // fills in stored state calls go_on_from() with the number of updates after which it was stored.
    std::size_t updates() const { return steps_; }
    const std::vector<ParameterShard>& shards() const { return shards_; }
    const std::vector<model::ParameterTensors>& kept() const { return kept_; }
    std::vector<model::ParameterTensors> take_kept() { return std::move(kept_); }
    void go_on_from(std::size_t updates) { steps_ = updates; }

    // Returns null if there are no master weights.
    const model::ParameterTensors* masters() const { return has_masters_ ? &kept_.back() : nullptr; }

private:
    OptimizerConfig config_;
    std::vector<model::ParameterSpec> specs_;
    std::vector<ParameterShard> shards_;
    bool has_masters_;
    // Moments (two for AdamW, one for SGD with momentum, none without), then master weights.
    std::vector<model::ParameterTensors> kept_;
    std::vector<model::ParameterTensors> backup_;  // copies of the values, then of kept_; or empty
    std::size_t steps_ = 0;
    std::size_t steps_of_backup_ = 0;
};

// Returns the factor that scales gradients to a norm of at most `clip`; 1 if `clip` is 0.
double clip_scale(double norm, double clip);

}  // namespace trireme::optim
