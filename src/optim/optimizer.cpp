#include "trireme/optim/optimizer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "trireme/kernels/read.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/update.hpp"

namespace trireme {
namespace {

void require_inside(const ParameterSpec& spec, const Box& box) {
    if (box.rows.end() <= spec.rows && box.columns.end() <= spec.columns) return;
    throw BugError(cat("a shard ends at row ", box.rows.end(), " and column ", box.columns.end(), " of ",
                       spec.name, ", of which this rank has ", spec.rows, " x ", spec.columns));
}

// A spec for each shard alone.
std::vector<ParameterSpec> specs_of(const std::vector<ParameterShard>& shards,
                                    const std::vector<ParameterSpec>& specs) {
    std::vector<ParameterSpec> parts;
    for (const auto& [parameter, box] : shards) {
        require_inside(specs[parameter], box);
        parts.push_back({.name = specs[parameter].name, .rows = box.rows.count, .columns = box.columns.count});
    }
    return parts;
}

// What an update reads and writes; all of the same shape, moments that there are none of being absent.
struct Operands {
    Tensor parameter;
    ConstTensor gradient;
    std::array<Tensor, 2> moments = {};
    Tensor rounded = {};

    Operands row_range(std::size_t begin, std::size_t count) const {
        return {.parameter = parameter.row_range(begin, count),
                .gradient = gradient.row_range(begin, count),
                .moments = {moments[0].row_range(begin, count), moments[1].row_range(begin, count)},
                .rounded = rounded.row_range(begin, count)};
    }
};

struct UpdateRule {
    const OptimizerConfig& config;
    double weight_decay;
    double gradient_scale;
    double rate;
    std::size_t step;           // from 1
    ConstTensor decaying = {};  // (columns) i32: see AdamWUpdate
};

void apply(Stream& stream, const UpdateRule& rule, const Operands& operands) {
    if (rule.config.kind == OptimizerKind::adamw) {
        launch(stream, AdamWUpdate{.parameter = operands.parameter,
                                   .gradient = operands.gradient,
                                   .moment1 = operands.moments[0],
                                   .moment2 = operands.moments[1],
                                   .gradient_scale = rule.gradient_scale,
                                   .rate = rule.rate,
                                   .beta1 = rule.config.beta1,
                                   .beta2 = rule.config.beta2,
                                   .epsilon = rule.config.epsilon,
                                   .weight_decay = rule.weight_decay,
                                   .step = rule.step,
                                   .decaying = rule.decaying,
                                   .rounded = operands.rounded});
    } else {
        launch(stream, SgdUpdate{.parameter = operands.parameter,
                                 .gradient = operands.gradient,
                                 .velocity = operands.moments[0],
                                 .gradient_scale = rule.gradient_scale,
                                 .rate = rule.rate,
                                 .momentum = rule.config.momentum,
                                 .weight_decay = rule.weight_decay,
                                 .decaying = rule.decaying,
                                 .rounded = operands.rounded});
    }
}

// 0 for each of a range of channels that is left out, 1 for the others.
std::vector<std::int32_t> decaying_of(const LeftOut& left_out, Range range) {
    std::vector<std::int32_t> decaying(range.count, 1);
    for (const std::int32_t channel : left_out.channels) {
        const auto c = static_cast<std::size_t>(channel);
        if (range.begin <= c && c < range.end()) decaying[c - range.begin] = 0;
    }
    return decaying;
}

// Rows that decay and rows that do not, run by run.
void apply_by_rows(Stream& stream, UpdateRule rule, const Operands& operands,
                   const std::vector<std::int32_t>& decaying) {
    const double weight_decay = rule.weight_decay;
    for (auto run = decaying.begin(); run != decaying.end();) {
        const auto end = std::find(run, decaying.end(), 1 - *run);
        rule.weight_decay = weight_decay * *run;
        apply(stream, rule,
              operands.row_range(static_cast<std::size_t>(run - decaying.begin()),
                                 static_cast<std::size_t>(end - run)));
        run = end;
    }
}

void apply_without_decay_of(Stream& stream, const LeftOut& left_out, UpdateRule rule, const Box& box,
                            const Operands& operands) {
    const bool are_rows = left_out.axes == WeightAxes::in_out;
    const std::vector<std::int32_t> decaying = decaying_of(left_out, are_rows ? box.rows : box.columns);
    if (are_rows) return apply_by_rows(stream, rule, operands, decaying);
    rule.decaying = {decaying.data(), DType::i32, 1, decaying.size(), decaying.size()};
    apply(stream, rule, operands);
}

void copy(Stream& stream, const ConstTensor& from, const Tensor& to) {
    launch(stream, Copy{.input = from, .output = to});
}

}  // namespace

std::size_t moments_of(const OptimizerConfig& config) {
    if (config.kind == OptimizerKind::adamw) return 2;
    return config.momentum > 0 ? 1 : 0;
}

std::size_t kept_of(const OptimizerConfig& config, DType values) {
    return moments_of(config) + (has_masters(values) ? 1 : 0);
}

std::size_t numbers_kept(const OptimizerConfig& config, DType values, bool has_backup) {
    const std::size_t kept = kept_of(config, values);
    return kept + (has_backup ? 1 + kept : 0);
}

Tensor shard_of(const ParameterTensors& tensors, const ParameterShard& shard) {
    const auto& [rows, columns] = shard.box;
    return tensors[shard.parameter]
        .row_range(rows.begin, rows.count)
        .column_range(columns.begin, columns.count);
}

std::vector<ParameterShard> whole_parameters(const std::vector<ParameterSpec>& specs) {
    std::vector<ParameterShard> shards;
    for (std::size_t i = 0; i < specs.size(); ++i) {
        shards.push_back({.parameter = i, .box = {{0, specs[i].rows}, {0, specs[i].columns}}});
    }
    return shards;
}

double sum_of_squares(Stream& stream, const ParameterTensors& gradients,
                      const std::vector<ParameterShard>& shards, Arena& scratch) {
    if (shards.empty()) return 0;
    const ArenaScope scope(scratch);
    const Tensor sums = scratch.tensor(DType::f64, 1, shards.size());
    for (std::size_t s = 0; s < shards.size(); ++s) {
        launch(stream,
               SumOfSquares{.input = shard_of(gradients, shards[s]), .result = sums.column_range(s, 1)});
    }
    return read_sum(stream, sums);
}

Optimizer::Optimizer(const OptimizerConfig& config, const std::vector<ParameterSpec>& specs,
                     std::vector<ParameterShard> shards, DType values, Place place, bool has_backup)
    : config_(config), specs_(specs), shards_(std::move(shards)), has_masters_(has_masters(values)) {
    const std::vector<ParameterSpec> parts = specs_of(shards_, specs_);
    const std::size_t kept = kept_of(config, values);
    for (std::size_t k = 0; k < kept; ++k) kept_.emplace_back(parts, wide_of(values), place);
    if (!has_backup) return;
    backup_.emplace_back(parts, values, place);
    for (std::size_t k = 0; k < kept; ++k) backup_.emplace_back(parts, wide_of(values), place);
}

void Optimizer::begin_with(Stream& stream, std::size_t parameter, const Tensor& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        const auto& [rows, columns] = shards_[s].box;
        if (shards_[s].parameter != parameter) continue;
        copy(stream, values.row_range(rows.begin, rows.count).column_range(columns.begin, columns.count),
             kept_.back()[s]);
    }
}

void Optimizer::update(Stream& stream, const ParameterTensors& values, const ParameterTensors& gradients,
                       double rate, double gradient_scale, const LeftOuts* left_out) {
    ++steps_;
    const auto left_out_of = [&](std::size_t parameter) -> const LeftOut* {
        if (left_out == nullptr) return nullptr;
        const auto found = left_out->find(parameter);
        return found == left_out->end() ? nullptr : &found->second;
    };
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        const UpdateRule rule{.config = config_,
                              .weight_decay = specs_[shards_[s].parameter].decays ? config_.weight_decay : 0,
                              .gradient_scale = gradient_scale,
                              .rate = rate,
                              .step = steps_};
        Operands all{.parameter = shard_of(values, shards_[s]), .gradient = shard_of(gradients, shards_[s])};
        if (has_masters_) all.rounded = std::exchange(all.parameter, kept_.back()[s]);
        for (std::size_t m = 0; m < moments_of(config_); ++m) all.moments[m] = kept_[m][s];
        if (const LeftOut* const channels = left_out_of(shards_[s].parameter)) {
            apply_without_decay_of(stream, *channels, rule, shards_[s].box, all);
        } else {
            apply(stream, rule, all);
        }
    }
}

void Optimizer::back_up(Stream& stream, const ParameterTensors& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        copy(stream, shard_of(values, shards_[s]), backup_.front()[s]);
        for (std::size_t k = 0; k < kept_.size(); ++k) copy(stream, kept_[k][s], backup_[1 + k][s]);
    }
    steps_of_backup_ = steps_;
}

void Optimizer::restore(Stream& stream, const ParameterTensors& values) {
    for (std::size_t s = 0; s < shards_.size(); ++s) {
        copy(stream, backup_.front()[s], shard_of(values, shards_[s]));
        for (std::size_t k = 0; k < kept_.size(); ++k) copy(stream, backup_[1 + k][s], kept_[k][s]);
    }
    steps_ = steps_of_backup_;
}

std::size_t Optimizer::bytes() const {
    std::size_t sum = 0;
    for (const auto* const tensors : {&kept_, &backup_})
        for (const ParameterTensors& each : *tensors) sum += each.bytes();
    return sum;
}

double clip_scale(double norm, double clip) {
    if (clip <= 0) return 1;
    return std::min(1.0, clip / (norm + 1e-6));
}

}  // namespace trireme
