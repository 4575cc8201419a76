#include "trireme/optim/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <utility>

#include "trireme/kernels/read.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme::optim {
namespace {

void require_inside(const model::ParameterSpec& spec, const layout::Box& box) {
    if (box.rows.end() <= spec.rows && box.columns.end() <= spec.columns) return;
    throw BugError(cat("a shard ends at row ", box.rows.end(), " and column ", box.columns.end(), " of ",
                       spec.name, ", of which this rank has ", spec.rows, " x ", spec.columns));
}

// Returns one spec per shard.
std::vector<model::ParameterSpec> specs_of(const std::vector<ParameterShard>& shards,
                                           const std::vector<model::ParameterSpec>& specs) {
    std::vector<model::ParameterSpec> parts;
    for (const auto& [parameter, box] : shards) {
        require_inside(specs[parameter], box);
        parts.push_back({.name = specs[parameter].name, .rows = box.rows.count, .columns = box.columns.count});
    }
    return parts;
}

// The tensors that an update reads and writes. All have the same shape; unused ones are absent.
struct Operands {
    device::Tensor parameter;
    device::ConstTensor gradient;
    std::array<device::Tensor, 2> moments = {};
    device::Tensor rounded = {};

    Operands row_range(std::size_t begin, std::size_t count) const {
        return {.parameter = parameter.row_range(begin, count),
                .gradient = gradient.row_range(begin, count),
                .moments = {moments[0].row_range(begin, count), moments[1].row_range(begin, count)},
                .rounded = rounded.row_range(begin, count)};
    }
};

// Returns 0 per skipped channel of the range and 1 per other channel.
std::vector<std::int32_t> decaying_of(const LeftOut& left_out, layout::Range range) {
    std::vector<std::int32_t> decaying(range.count, 1);
    for (const std::int32_t channel : left_out.channels) {
        const auto c = static_cast<std::size_t>(channel);
        if (range.begin <= c && c < range.end()) decaying[c - range.begin] = 0;
    }
    return decaying;
}

// The updates of one step, which are launched together.
class Updates {
public:
    Updates(const OptimizerConfig& config, double gradient_scale, double rate, std::size_t step)
        : config_(config), gradient_scale_(gradient_scale), rate_(rate), step_(step) {}

    void add(const Operands& of, double weight_decay, const device::ConstTensor& decaying = {}) {
        if (config_.kind == OptimizerKind::adamw) {
            adamw_.push_back({.parameter = of.parameter,
                              .gradient = of.gradient,
                              .moment1 = of.moments[0],
                              .moment2 = of.moments[1],
                              .gradient_scale = gradient_scale_,
                              .rate = rate_,
                              .beta1 = config_.beta1,
                              .beta2 = config_.beta2,
                              .epsilon = config_.epsilon,
                              .weight_decay = weight_decay,
                              .step = step_,
                              .decaying = decaying,
                              .rounded = of.rounded});
        } else {
            sgd_.push_back({.parameter = of.parameter,
                            .gradient = of.gradient,
                            .velocity = of.moments[0],
                            .gradient_scale = gradient_scale_,
                            .rate = rate_,
                            .momentum = config_.momentum,
                            .weight_decay = weight_decay,
                            .decaying = decaying,
                            .rounded = of.rounded});
        }
    }

    // Adds the update of a shard with the given `box`, without weight decay of skipped channels.
    void add_without_decay_of(const LeftOut& left_out, const layout::Box& box, const Operands& of,
                              double weight_decay) {
        const bool are_rows = left_out.axes == kernels::WeightAxes::in_out;
        const std::vector<std::int32_t> decaying = decaying_of(left_out, are_rows ? box.rows : box.columns);
        if (are_rows) return add_by_rows(decaying, of, weight_decay);
        const auto& kept = told_.emplace_back(decaying);
        add(of, weight_decay, {kept.data(), device::DType::i32, 1, kept.size(), kept.size()});
    }

    void launch_all(device::Stream& stream) const {
        launch_each(stream, adamw_);
        launch_each(stream, sgd_);
    }

private:
    // Adds one update per run of rows that decay, or do not decay, together.
    void add_by_rows(const std::vector<std::int32_t>& decaying, const Operands& of, double weight_decay) {
        for (auto run = decaying.begin(); run != decaying.end();) {
            const auto end = std::find(run, decaying.end(), 1 - *run);
            add(of.row_range(static_cast<std::size_t>(run - decaying.begin()),
                             static_cast<std::size_t>(end - run)),
                weight_decay * *run);
            run = end;
        }
    }

    const OptimizerConfig& config_;
    double gradient_scale_;
    double rate_;
    std::size_t step_;  // from 1
    std::vector<kernels::AdamWUpdate> adamw_ = {};
    std::vector<kernels::SgdUpdate> sgd_ = {};
    std::deque<std::vector<std::int32_t>> told_ = {};  // per shard and column: 1 if it decays
};

void copy(device::Stream& stream, const device::ConstTensor& from, const device::Tensor& to) {
    launch(stream, kernels::Copy{.input = from, .output = to});
}

}  // namespace

std::size_t moments_of(const OptimizerConfig& config) {
    if (config.kind == OptimizerKind::adamw) return 2;
    return config.momentum > 0 ? 1 : 0;
}

std::size_t kept_of(const OptimizerConfig& config, device::DType values) {
    return moments_of(config) + (has_masters(values) ? 1 : 0);
}

std::size_t numbers_kept(const OptimizerConfig& config, device::DType values, bool has_backup) {
    const std::size_t kept = kept_of(config, values);
    return kept + (has_backup ? 1 + kept : 0);
}

device::Tensor shard_of(const model::ParameterTensors& tensors, const ParameterShard& shard) {
    const auto& [rows, columns] = shard.box;
    return tensors[shard.parameter]
        .row_range(rows.begin, rows.count)
        .column_range(columns.begin, columns.count);
}

std::vector<ParameterShard> whole_parameters(const std::vector<model::ParameterSpec>& specs) {
    std::vector<ParameterShard> shards;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        shards.push_back({.parameter = i, .box = {{0, specs[i].rows}, {0, specs[i].columns}}});
    }
    return shards;
}

double sum_of_squares(device::Stream& stream, const model::ParameterTensors& gradients,
                      const std::vector<ParameterShard>& shards, device::Arena& scratch) {
    if (shards.empty()) return 0;
    const device::ArenaScope scope(scratch);
    const device::Tensor sums = scratch.tensor(device::DType::f64, 1, shards.size());
    std::vector<kernels::SumOfSquares> squares;
    for (std::size_t s = 0; s < shards.size(); ++s)
        squares.push_back({.input = shard_of(gradients, shards[s]), .result = sums.column_range(s, 1)});
    launch_each(stream, squares);
    return kernels::read_sum(stream, sums);
}

std::size_t norm_scratch_bytes(std::size_t shards) { return shards * bytes_of(device::DType::f64); }

Optimizer::Optimizer(const OptimizerConfig& config, const std::vector<model::ParameterSpec>& specs,
                     std::vector<ParameterShard> shards, device::DType values, device::MemorySpace place,
                     bool has_backup)
    : config_(config), specs_(specs), shards_(std::move(shards)), has_masters_(has_masters(values)) {
    const std::vector<model::ParameterSpec> parts = specs_of(shards_, specs_);
    const std::size_t kept = kept_of(config, values);
    for (std::size_t k = 0; k < kept; ++k) kept_.emplace_back(parts, wide_of(values), place);
    if (!has_backup) return;
    backup_.emplace_back(parts, values, place);
    for (std::size_t k = 0; k < kept; ++k) backup_.emplace_back(parts, wide_of(values), place);
}

void Optimizer::begin_with(device::Stream& stream, std::size_t parameter, const device::Tensor& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        const auto& [rows, columns] = shards_[s].box;
        if (shards_[s].parameter != parameter) continue;
        copy(stream, values.row_range(rows.begin, rows.count).column_range(columns.begin, columns.count),
             kept_.back()[s]);
    }
}

void Optimizer::update(device::Stream& stream, const model::ParameterTensors& values,
                       const model::ParameterTensors& gradients, double rate, double gradient_scale,
                       const LeftOuts* left_out) {
    ++steps_;
    const auto left_out_of = [&](std::size_t parameter) -> const LeftOut* {
        if (left_out == nullptr) return nullptr;
        const auto found = left_out->find(parameter);
        return found == left_out->end() ? nullptr : &found->second;
    };
    Updates updates(config_, gradient_scale, rate, steps_);
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        const auto& [parameter, box] = shards_[s];
        const double weight_decay = specs_[parameter].decays ? config_.weight_decay : 0;
        Operands all{.parameter = shard_of(values, shards_[s]), .gradient = shard_of(gradients, shards_[s])};
        if (has_masters_) all.rounded = std::exchange(all.parameter, kept_.back()[s]);
        for (std::size_t m = 0; m < moments_of(config_); ++m) all.moments[m] = kept_[m][s];
        if (const LeftOut* const channels = left_out_of(parameter)) {
            updates.add_without_decay_of(*channels, box, all, weight_decay);
        } else {
            updates.add(all, weight_decay);
        }
    }
    updates.launch_all(stream);
}

void Optimizer::back_up(device::Stream& stream, const model::ParameterTensors& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        copy(stream, shard_of(values, shards_[s]), backup_.front()[s]);
        for (std::size_t k = 0; k < kept_.size(); ++k) copy(stream, kept_[k][s], backup_[1 + k][s]);
    }
    steps_of_backup_ = steps_;
}

void Optimizer::restore(device::Stream& stream, const model::ParameterTensors& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        copy(stream, backup_.front()[s], shard_of(values, shards_[s]));
        for (std::size_t k = 0; k < kept_.size(); ++k) copy(stream, backup_[1 + k][s], kept_[k][s]);
    }
    steps_ = steps_of_backup_;
}

std::size_t Optimizer::bytes() const {
    std::size_t sum = 0;
    for (const auto* const tensors : {&kept_, &backup_})
        for (const model::ParameterTensors& each : *tensors) sum += each.bytes();
    return sum;
}

double clip_scale(double norm, double clip) {
    if (clip <= 0) return 1;
    return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace trireme::optim
