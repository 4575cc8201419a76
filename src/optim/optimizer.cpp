#include "trireme/optim/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <numeric>
#include <utility>

#include "trireme/kernels/read.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::optim {
namespace {

void require_inside(const model::ParameterSpec& spec, const layout::Box& box) {
    if (box.rows.end() <= spec.rows && box.columns.end() <= spec.columns) return;
    throw BugError(cat("a shard of ", spec.name, " ends at row ", box.rows.end(), " and column ",
                       box.columns.end(), ", but this rank's slice has only ", spec.rows, " x ", spec.columns,
                       " elements"));
}

// Returns one spec per shard, with the name of its parameter.
std::vector<model::ParameterSpec> make_shard_specs(const std::vector<ParameterShard>& shards,
                                                   const std::vector<model::ParameterSpec>& specs) {
    std::vector<model::ParameterSpec> shard_specs;
    for (const auto& [parameter, box] : shards) {
        require_inside(specs[parameter], box);
        shard_specs.push_back(
            {.name = specs[parameter].name, .rows = box.rows.count, .columns = box.columns.count});
    }
    return shard_specs;
}

// The tensors that the update of a shard reads and writes. They have the same shape or are absent.
struct Operands {
    device::Tensor parameter;  // the master weights, or the values if there are no master weights
    device::ConstTensor gradient;
    std::array<device::Tensor, 2> moments = {};
    device::Tensor rounded = {};  // the values; absent if there are no master weights

    Operands row_range(std::size_t begin, std::size_t count) const {
        return {.parameter = parameter.row_range(begin, count),
                .gradient = gradient.row_range(begin, count),
                .moments = {moments[0].row_range(begin, count), moments[1].row_range(begin, count)},
                .rounded = rounded.row_range(begin, count)};
    }
};

// Returns one number per channel of `range`: 0 if the channel is skipped, 1 if weight decay applies to it.
std::vector<std::int32_t> make_decay_mask(const SkippedInputChannels& skipped, layout::Range range) {
    std::vector<std::int32_t> decay_mask(range.count, 1);
    for (const std::int32_t channel : skipped.channels) {
        const auto c = static_cast<std::size_t>(channel);
        if (range.begin <= c && c < range.end()) decay_mask[c - range.begin] = 0;
    }
    return decay_mask;
}

// The updates of one step, which are launched together.
class UpdateBatch {
public:
    UpdateBatch(const OptimizerConfig& config, double gradient_scale, double rate)
        : config_(config), gradient_scale_(gradient_scale), rate_(rate) {}

    // `update` is the number of this update of the parameter, from 1.
    void add(const Operands& operands, std::size_t update, double weight_decay,
             const device::ConstTensor& decay_mask = {}) {
        if (config_.kind == OptimizerKind::adamw) {
            adamw_.push_back({.parameter = operands.parameter,
                              .gradient = operands.gradient,
                              .moment1 = operands.moments[0],
                              .moment2 = operands.moments[1],
                              .gradient_scale = gradient_scale_,
                              .rate = rate_,
                              .beta1 = config_.beta1,
                              .beta2 = config_.beta2,
                              .epsilon = config_.epsilon,
                              .weight_decay = weight_decay,
                              .step = update,
                              .decay_mask = decay_mask,
                              .rounded_parameter = operands.rounded});
        } else {
            sgd_.push_back({.parameter = operands.parameter,
                            .gradient = operands.gradient,
                            .velocity = operands.moments[0],
                            .gradient_scale = gradient_scale_,
                            .rate = rate_,
                            .momentum = config_.momentum,
                            .weight_decay = weight_decay,
                            .decay_mask = decay_mask,
                            .rounded_parameter = operands.rounded});
        }
    }

    // Adds the update of a shard, without weight decay of skipped channels. `box` is the shard's box.
    void add_with_skipped_decay(const SkippedInputChannels& skipped, const layout::Box& box,
                                const Operands& operands, std::size_t update, double weight_decay) {
        const bool channels_are_rows = skipped.axes == kernels::WeightAxes::in_out;
        const std::vector<std::int32_t> decay_mask =
            make_decay_mask(skipped, channels_are_rows ? box.rows : box.columns);
        if (channels_are_rows) return add_by_rows(decay_mask, operands, update, weight_decay);
        const auto& mask = decay_masks_.emplace_back(decay_mask);
        add(operands, update, weight_decay, {mask.data(), device::DType::i32, 1, mask.size(), mask.size()});
    }

    void launch_all(device::Stream& stream) const {
        launch_each(stream, adamw_);
        launch_each(stream, sgd_);
    }

private:
    // Adds one update per run of consecutive rows with the same value in `decay_mask`.
    void add_by_rows(const std::vector<std::int32_t>& decay_mask, const Operands& operands, std::size_t update,
                     double weight_decay) {
        for (auto run = decay_mask.begin(); run != decay_mask.end();) {
            const auto end = std::find(run, decay_mask.end(), 1 - *run);
            add(operands.row_range(static_cast<std::size_t>(run - decay_mask.begin()),
                                   static_cast<std::size_t>(end - run)),
                update, weight_decay * *run);
            run = end;
        }
    }

    const OptimizerConfig& config_;
    double gradient_scale_;
    double rate_;
    std::vector<kernels::AdamWUpdate> adamw_ = {};
    std::vector<kernels::SgdUpdate> sgd_ = {};
    // Results of make_decay_mask(). The container is a deque, because updates refer to its elements.
    std::deque<std::vector<std::int32_t>> decay_masks_ = {};
};

void copy(device::Stream& stream, const device::ConstTensor& from, const device::Tensor& to) {
    launch(stream, kernels::Copy{.input = from, .output = to});
}

}  // namespace

std::size_t count_moments(const OptimizerConfig& config) {
    if (config.kind == OptimizerKind::adamw) return 2;
    return config.momentum > 0 ? 1 : 0;
}

std::size_t count_state_values(const OptimizerConfig& config, device::DType value_type) {
    return count_moments(config) + (has_master_weights(value_type) ? 1 : 0);
}

std::size_t count_stored_values(const OptimizerConfig& config, device::DType value_type, bool has_backup) {
    const std::size_t state_count = count_state_values(config, value_type);
    return state_count + (has_backup ? 1 + state_count : 0);
}

device::Tensor view_shard(const model::ParameterTensors& tensors, const ParameterShard& shard) {
    const auto& [rows, columns] = shard.box;
    return tensors[shard.parameter]
        .row_range(rows.begin, rows.count)
        .column_range(columns.begin, columns.count);
}

std::vector<ParameterShard> make_whole_shards(const std::vector<model::ParameterSpec>& specs) {
    std::vector<ParameterShard> shards;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        if (specs[i].is_trained)
            shards.push_back({.parameter = i, .box = {{0, specs[i].rows}, {0, specs[i].columns}}});
    }
    return shards;
}

std::vector<double> list_sums_of_squares(device::Stream& stream, const model::ParameterTensors& gradients,
                                         const std::vector<ParameterShard>& shards, device::Arena& scratch) {
    if (shards.empty()) return {};
    const device::ArenaScope scope(scratch);
    const device::Tensor sums = scratch.tensor(device::DType::f64, 1, shards.size());
    std::vector<kernels::SumOfSquares> squares;
    for (std::size_t s = 0; s < shards.size(); ++s)
        squares.push_back({.input = view_shard(gradients, shards[s]), .result = sums.column_range(s, 1)});
    launch_each(stream, squares);
    return kernels::read_values(stream, sums);
}

double compute_sum_of_squares(device::Stream& stream, const model::ParameterTensors& gradients,
                              const std::vector<ParameterShard>& shards, device::Arena& scratch) {
    const std::vector<double> sums = list_sums_of_squares(stream, gradients, shards, scratch);
    return std::accumulate(sums.begin(), sums.end(), 0.0);
}

std::size_t count_norm_scratch_bytes(std::size_t shards) { return shards * byte_size(device::DType::f64); }

Optimizer::Optimizer(const OptimizerConfig& config, const std::vector<model::ParameterSpec>& specs,
                     std::vector<ParameterShard> shards, device::DType value_type,
                     device::MemorySpace memory_space, bool has_backup, device::BufferPart state_memory)
    : config_(config),
      specs_(specs),
      shards_(std::move(shards)),
      value_type_(value_type),
      updates_(specs.size()) {
    const std::vector<model::ParameterSpec> shard_specs = make_shard_specs(shards_, specs_);
    const std::size_t state_count = count_state_values(config, value_type);
    const auto allocate_state = [&](std::vector<model::ParameterTensors>& kinds) {
        for (std::size_t k = 0; k < state_count; ++k)
            kinds.emplace_back(shard_specs, accumulator_type(value_type), memory_space);
    };
    state_memory.buffer ? place_state(std::move(state_memory)) : allocate_state(state_);
    if (!has_backup) return;
    backup_.emplace_back(shard_specs, value_type, memory_space);
    allocate_state(backup_);
}

void Optimizer::place_state(device::BufferPart memory) {
    state_.clear();
    if (!memory.buffer) return;
    const std::vector<model::ParameterSpec> shard_specs = make_shard_specs(shards_, specs_);
    for (std::size_t k = 0; k < count_state_values(config_, value_type_); ++k) {
        state_.emplace_back(shard_specs, accumulator_type(value_type_), memory);
        memory.offset += state_.back().bytes();
    }
}

void Optimizer::initialize_master_weights(device::Stream& stream, std::size_t parameter,
                                          const device::Tensor& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        const auto& [rows, columns] = shards_[s].box;
        if (shards_[s].parameter != parameter) continue;
        copy(stream, values.row_range(rows.begin, rows.count).column_range(columns.begin, columns.count),
             state_.back()[s]);
    }
}

void Optimizer::update(device::Stream& stream, const model::ParameterTensors& values,
                       const model::ParameterTensors& gradients, double rate, double gradient_scale,
                       const SkippedChannelMap* skipped) {
    for (std::size_t i = 0; i < specs_.size(); ++i) updates_[i] += specs_[i].is_trained ? 1 : 0;
    const auto find_skipped = [&](std::size_t parameter) -> const SkippedInputChannels* {
        if (skipped == nullptr) return nullptr;
        const auto found = skipped->find(parameter);
        return found == skipped->end() ? nullptr : &found->second;
    };
    UpdateBatch updates(config_, gradient_scale, rate);
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        const auto& [parameter, box] = shards_[s];
        const double weight_decay = specs_[parameter].has_weight_decay ? config_.weight_decay : 0;
        Operands operands{.parameter = view_shard(values, shards_[s]),
                          .gradient = view_shard(gradients, shards_[s])};
        if (has_master_weights(value_type_))
            operands.rounded = std::exchange(operands.parameter, state_.back()[s]);
        for (std::size_t m = 0; m < count_moments(config_); ++m) operands.moments[m] = state_[m][s];
        if (const SkippedInputChannels* const channels = find_skipped(parameter)) {
            updates.add_with_skipped_decay(*channels, box, operands, updates_[parameter], weight_decay);
        } else {
            updates.add(operands, updates_[parameter], weight_decay);
        }
    }
    updates.launch_all(stream);
}

void Optimizer::save_backup(device::Stream& stream, const model::ParameterTensors& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        copy(stream, view_shard(values, shards_[s]), backup_.front()[s]);
        for (std::size_t k = 0; k < state_.size(); ++k) copy(stream, state_[k][s], backup_[1 + k][s]);
    }
    updates_of_backup_ = updates_;
}

void Optimizer::restore_backup(device::Stream& stream, const model::ParameterTensors& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        copy(stream, backup_.front()[s], view_shard(values, shards_[s]));
        for (std::size_t k = 0; k < state_.size(); ++k) copy(stream, backup_[1 + k][s], state_[k][s]);
    }
    updates_ = updates_of_backup_;
}

std::size_t Optimizer::bytes() const {
    std::size_t sum = 0;
    for (const auto* const tensors : {&state_, &backup_})
        for (const model::ParameterTensors& each : *tensors) sum += each.bytes();
    return sum;
}

std::size_t Optimizer::count_moment_bytes() const {
    std::size_t sum = 0;
    for (std::size_t m = 0; m < count_moments(config_); ++m) sum += state_[m].bytes();
    return sum;
}

double compute_clip_scale(double norm, double clip) {
    if (clip <= 0) return 1;
    return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace trireme::optim
