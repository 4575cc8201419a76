#include "trireme/setup/stage_work.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "setup/costs/probed_stage.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/model/model.hpp"

namespace trireme::setup {
namespace {

// Returns a text that is equal for stages with equal work. The text has the kinds of the layers, a mark if the
// stage is the first one, the rank's position in its team, the team's shares, the recomputation and the
// properties of the passes. If layers of the model are frozen, the text also has the number of frozen layers of
// the stage.
std::string make_key(const model::ModelConfig& model, const stage::StageSpec& spec,
                     const stage::PassVariant& variant) {
    std::string key;
    for (const std::string_view kind : list_kinds(model, spec.layers)) key += cat(kind, ' ');
    key += cat(spec.layers.begin == 0 ? "first " : "", "rank ", spec.part.rank, " of");
    for (const std::size_t share : spec.part.shares) key += cat(' ', share);
    if (spec.first_trained_layer > 0)
        key += cat(" frozen ", std::clamp(spec.first_trained_layer, spec.layers.begin, spec.layers.end()) -
                                   spec.layers.begin);
    key += cat(' ', to_string(spec.recompute), ' ', static_cast<int>(variant.dtype), variant.cuts_rows);
    if (!variant.changes_matmuls()) return key;
    const auto to_bits = [](double number) { return std::bit_cast<std::uint64_t>(number); };
    key += cat(" skips ", to_bits(variant.resizing_limit), " spreads ", static_cast<int>(variant.spread));
    for (const auto& [from, to, fractions] : variant.migrations) {
        key += cat(" from ", from, " to ", to);
        for (const double fraction : fractions) key += cat(' ', to_bits(fraction));
    }
    return key;
}

// The numbers of equal blocks of a stage. The halves of a block that are in different stages do not count.
struct EqualBlocks {
    std::size_t frozen = 0;
    std::size_t trained = 0;
};

// The layers 2 b + 1 and 2 b + 2 of the model are the halves of block b. Both are frozen, or none of them.
EqualBlocks count_equal_blocks(const model::ModelConfig& model, const stage::StageSpec& spec) {
    const std::size_t begin = spec.layers.begin / 2;  // the first block of which the stage has both halves
    const std::size_t end = std::min(model.layers, (spec.layers.end() - 1) / 2);
    if (begin >= end) return {};
    const std::size_t first_trained = std::clamp(spec.first_trained_layer / 2, begin, end);
    return {.frozen = first_trained - begin, .trained = end - first_trained};
}

}  // namespace

plan::MicrobatchShape count_shape(const stage::BatchShape& shape) {
    plan::MicrobatchShape counts{.samples = shape.segments.size(),
                                 .rows = shape.rows,
                                 .predicted_rows = shape.predicted_rows.value_or(shape.rows)};
    for (const kernels::Segment& segment : shape.segments) {
        counts.tokens += segment.length;
        counts.square_length_sum += segment.length * segment.length;
    }
    return counts;
}

plan::KernelSeconds adapt_kernel_seconds(device::KernelTimePredictor predict_seconds, double speed) {
    return
        [predict = std::move(predict_seconds), speed](std::string_view kernel, const plan::KernelCall& call) {
            return predict({.kernel = kernel, .flops = call.flops, .bytes = call.bytes, .matmul = call.matmul},
                           speed);
        };
}

stage::PassVariant make_pass_variant(const plan::Plan& plan, device::DType dtype,
                                     std::vector<layout::Migration> migrations) {
    return {.dtype = dtype,
            .cuts_rows = plan.cuts_rows,
            .resizing_limit = plan.max_skipped_fraction,
            .migrations = std::move(migrations),
            .spread = plan.spread};
}

plan::StageWork derive_stage_work(const model::ModelConfig& model, const stage::StageSpec& spec,
                                  const stage::PassVariant& variant) {
    return ProbedStage(model, spec, variant).make_work();
}

StageWorks::StageWorks(const model::ModelConfig& model) : model_(model) {}
StageWorks::~StageWorks() = default;

const plan::StageWork& StageWorks::find(const stage::StageSpec& spec, const stage::PassVariant& variant) {
    std::string key = make_key(model_, spec, variant);
    const auto known = work_by_key_.find(key);
    if (known != work_by_key_.end()) return known->second;
    return work_by_key_.emplace(std::move(key), derive(spec, variant)).first->second;
}

// A frozen block runs by itself, so that all frozen blocks have equal work. A kernel may belong to a trained
// block and to the next one, so that only the trained blocks between two others have equal work.
plan::StageWork StageWorks::derive(const stage::StageSpec& spec, const stage::PassVariant& variant) {
    if (variant.changes_matmuls()) return derive_stage_work(model_, spec, variant);
    constexpr EqualBlocks kept{.frozen = 1, .trained = 2};
    const EqualBlocks blocks = count_equal_blocks(model_, spec);
    const std::size_t frozen = blocks.frozen - std::min(blocks.frozen, kept.frozen);
    const std::size_t trained = blocks.trained - std::min(blocks.trained, kept.trained);
    const ProbedStage& fewest = probe_without(frozen, trained, spec, variant);
    ProbedStage stage = fewest;
    const bool are_equal =
        (frozen == 0 ||
         stage.add_difference(probe_without(frozen - 1, trained, spec, variant), fewest, frozen)) &&
        (trained == 0 ||
         stage.add_difference(probe_without(frozen, trained - 1, spec, variant), fewest, trained));
    return are_equal ? stage.make_work() : derive_stage_work(model_, spec, variant);
}

// Returns the probes of the stage without `frozen` of its frozen blocks and `trained` of its trained blocks.
const ProbedStage& StageWorks::probe_without(std::size_t frozen, std::size_t trained,
                                             const stage::StageSpec& spec, const stage::PassVariant& variant) {
    model::ModelConfig model = model_;
    model.layers -= frozen + trained;
    stage::StageSpec fewer = spec;
    fewer.layers.count -= 2 * (frozen + trained);
    fewer.first_trained_layer -= 2 * frozen;
    std::unique_ptr<const ProbedStage>& probed = probed_by_key_[make_key(model, fewer, variant)];
    if (!probed) probed = std::make_unique<const ProbedStage>(model, fewer, variant);
    return *probed;
}

}  // namespace trireme::setup
