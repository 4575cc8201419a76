// Updates parameters of a rank from their gradients.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/layout/box.hpp"
#include "trireme/model/parameter.hpp"
#include "trireme/optim/config.hpp"

namespace trireme::optim {

// A part of one of the rank's parameters: `box` counts within the rank's own memory of it.
struct ParameterShard {
    std::size_t parameter = 0;
    layout::Box box;

    friend bool operator==(const ParameterShard&, const ParameterShard&) = default;
};

// A view of it; with gaps between its rows where it is narrower than the parameter.
device::Tensor shard_of(const model::ParameterTensors& tensors, const ParameterShard& shard);

// Every parameter whole.
std::vector<ParameterShard> whole_parameters(const std::vector<model::ParameterSpec>& specs);

// The sum of squares of the gradients in `shards`, added in their order; 0 of none. Temporaries come from
// `scratch`.
double sum_of_squares(device::Stream& stream, const model::ParameterTensors& gradients,
                      const std::vector<ParameterShard>& shards, device::Arena& scratch);
// Bytes that sum_of_squares() takes from `scratch` for that many shards.
std::size_t norm_scratch_bytes(std::size_t shards);

// How many moments it has of each parameter. Where values are rounded to 16 bits it keeps their masters, too:
// what is updated, and then rounded.
std::size_t moments_of(const OptimizerConfig& config);
constexpr bool has_masters(device::DType values) { return wide_of(values) != values; }

// How many wide numbers it keeps of each parameter: moments, then masters; and with a backup of these and of
// the values, rounded up.
std::size_t kept_of(const OptimizerConfig& config, device::DType values);
std::size_t numbers_kept(const OptimizerConfig& config, device::DType values, bool has_backup);

// Input channels of a weight that no product of a step has read, so that its gradient says nothing of them.
struct LeftOut {
    kernels::WeightAxes axes =
        kernels::WeightAxes::in_out;  // the channels are rows, or columns, of the rank's memory of it
    std::vector<std::int32_t> channels = {};
};
using LeftOuts = std::map<std::size_t, LeftOut>;  // by the parameter's number

class Optimizer {
public:
    // Keeps numbers of `shards` alone: those are what it updates. One with a backup has as much memory again,
    // and for the values, which are of type `values`.
    Optimizer(const OptimizerConfig& config, const std::vector<model::ParameterSpec>& specs,
              std::vector<ParameterShard> shards, device::DType values, device::MemorySpace place,
              bool has_backup = false);

    // One update with gradients scaled by `gradient_scale`. Weights of channels in `left_out` (or none) do not
    // decay in it; their moments go on, and move them.
    void update(device::Stream& stream, const model::ParameterTensors& values,
                const model::ParameterTensors& gradients, double rate, double gradient_scale,
                const LeftOuts* left_out = nullptr);

    // What the next update will change, bit for bit: kept before it, brought back behind it.
    void back_up(device::Stream& stream, const model::ParameterTensors& values);
    void restore(device::Stream& stream, const model::ParameterTensors& values);

    std::size_t bytes() const;

    // First values, before they were rounded: of one parameter, whole. For one that has masters.
    void begin_with(device::Stream& stream, std::size_t parameter, const device::Tensor& values);

    // Its state: so many updates, and of each shard the moments, moment by moment, and the masters behind them.
    // Whoever puts earlier ones there says how many updates are behind them.
    std::size_t updates() const { return steps_; }
    const std::vector<ParameterShard>& shards() const { return shards_; }
    const std::vector<model::ParameterTensors>& kept() const { return kept_; }
    std::vector<model::ParameterTensors> take_kept() { return std::move(kept_); }
    void go_on_from(std::size_t updates) { steps_ = updates; }

    const model::ParameterTensors* masters() const {
        return has_masters_ ? &kept_.back() : nullptr;
    }  // or none

private:
    OptimizerConfig config_;
    std::vector<model::ParameterSpec> specs_;
    std::vector<ParameterShard> shards_;
    bool has_masters_;
    std::vector<model::ParameterTensors>
        kept_;  // of moments two for adamw, one for sgd with momentum, none without
    std::vector<model::ParameterTensors> backup_;  // of the values, then of what is kept; or none
    std::size_t steps_ = 0;
    std::size_t steps_of_backup_ = 0;
};

// What gradients are multiplied with so that their norm does not exceed `clip`; 1 if clip is 0.
double clip_scale(double norm, double clip);

}  // namespace trireme::optim
