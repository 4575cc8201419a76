#include "trireme/stage/step_memory.hpp"

#include <algorithm>

#include "stage/cached_layers.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::stage {
namespace {

// True if all layers of the stage are frozen.
bool is_frozen(const StageSpec& stage) { return stage.layers.end() <= stage.first_trained_layer; }

// Returns a text that is equal for blocks that need equal memory.
std::string make_block_key(const model::ModelConfig& model, const StageSpec& block) {
    std::string key = cat(is_frozen(block) ? "frozen " : "", block.layers.begin == 0 ? "first " : "", "rank ",
                          block.part.rank, " of");
    for (const std::size_t share : block.part.shares) key += cat(' ', share);
    for (const std::string_view kind : list_kinds(model, block.layers)) key += cat(' ', kind);
    return key;
}

// True if the first trained block computes a gradient that no frozen layer reads.
bool discards_input_gradient(const StageSpec& stage) {
    return stage.first_trained_layer > 0 && stage.layers.begin <= stage.first_trained_layer;
}

// Returns the index of a compute instruction in TrainingMemory::workspaces.
std::size_t find_workspace_index(schedule::Op op) { return static_cast<std::size_t>(op); }

}  // namespace

std::size_t EqualBuffers::count_bytes() const {
    return sizes.count_workspace_bytes() + stashes * round_up_to_cache_lines(sizes.activations) +
           rows * round_up_to_cache_lines(row_bytes);
}

BackwardPasses find_backward_passes(const schedule::Program& program) {
    const auto contains = [&](schedule::Op op) {
        return std::ranges::any_of(program, [&](const schedule::Instruction& each) { return each.op == op; });
    };
    const bool has_whole = contains(schedule::Op::backward);
    if (!contains(schedule::Op::backward_input))
        return has_whole ? BackwardPasses::whole : BackwardPasses::none;
    return has_whole ? BackwardPasses::both : BackwardPasses::split;
}

StepMemoryPlanner::StepMemoryPlanner(const LocalWork& work)
    : model_(work.model), stages_(work.stages), specs_(work.specs), variant_(work.variant) {
    std::map<std::string, std::size_t> kinds;
    for (const StageSpec& spec : work.specs) {
        std::size_t& frozen_blocks = frozen_blocks_.emplace_back();
        std::vector<std::size_t>& blocks = blocks_.emplace_back();
        for (const layout::Range& layers : list_blocks(work.model, spec.layers)) {
            const bool freezes = layers.begin < spec.first_trained_layer;
            const StageSpec block{
                .layers = layers, .part = spec.part, .first_trained_layer = freezes ? layers.end() : 0};
            const auto [kind, is_new] = kinds.try_emplace(make_block_key(work.model, block), kinds_.size());
            if (is_new) kinds_.push_back(block);
            blocks.push_back(kind->second);
            if (freezes) ++frozen_blocks;
        }
    }
}

std::size_t StepMemoryPlanner::count_row_bytes(const BatchShape& batch) const {
    const model::TensorPart& part = kinds_.front().part;
    const std::size_t rows =
        variant_.cuts_rows
            ? layout::cut_evenly(batch.rows, part.shares.size())[static_cast<std::size_t>(part.rank)].count
            : batch.rows;
    return rows * model_.width * byte_size(variant_.dtype);
}

const TrainingMemory& StepMemoryPlanner::predict_block(std::size_t kind, plan::Recompute level,
                                                       const BatchShape& batch, BackwardPasses passes) {
    constexpr std::size_t max_known = 1 << 14;
    if (known_.size() == max_known) known_.clear();
    StageSpec spec = kinds_[kind];
    spec.recompute = level;
    if (is_frozen(spec)) passes = BackwardPasses::none;
    const bool is_evaluation = passes == BackwardPasses::none;
    if (level == plan::Recompute::full && !is_evaluation) passes = BackwardPasses::whole;
    const auto [known, is_new] = known_.try_emplace({kind, level, passes, batch.rows, batch.segments.size()});
    TrainingMemory& memory = known->second;
    if (!is_new) return memory;
    const BatchShape shape{.segments = batch.segments, .rows = batch.rows};
    if (is_evaluation) {
        memory.peak = predict_evaluation(model_, spec, shape, variant_);
        memory.workspaces[find_workspace_index(schedule::Op::forward)] = memory.peak;
        return memory;
    }
    PassVariant variant = variant_;
    variant.halves = passes == BackwardPasses::whole ? BackwardHalves::together : BackwardHalves::apart;
    memory = predictors_[{kind, level, variant.halves}].predict(model_, spec, shape, variant);
    if (passes == BackwardPasses::both) {
        variant.halves = BackwardHalves::together;
        const TrainingMemory whole =
            predictors_[{kind, level, variant.halves}].predict(model_, spec, shape, variant);
        memory.peak = elementwise_max(memory.peak, whole.peak);
        memory.workspaces[find_workspace_index(schedule::Op::backward)] =
            whole.workspaces[find_workspace_index(schedule::Op::backward)];
    }
    return memory;
}

// In training, a stage keeps the stashes of all trained blocks. Frozen blocks run as in an evaluation, which
// keeps the output of one block at a time.
// The first half of a split backward pass also keeps the gradients between the blocks, and what each block
// needs for its second half. It begins with the last block, which may need temporaries on top of what is kept.
TrainingMemory StepMemoryPlanner::predict_stage(std::size_t s, const BatchShape& batch, BackwardPasses passes,
                                                const std::vector<plan::Recompute>& levels) {
    const std::vector<std::size_t>& blocks = blocks_[s];
    const auto find_level = [&](std::size_t b) { return levels.empty() ? specs_[s].recompute : levels[b]; };
    const std::size_t frozen_blocks = frozen_blocks_[s];
    TrainingMemory total;
    std::size_t kept = 0;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
        const TrainingMemory& block = predict_block(blocks[b], find_level(b), batch, passes);
        total.peak = elementwise_max(total.peak, block.peak);
        for (std::size_t op = 0; op < total.workspaces.size(); ++op)
            total.workspaces[op] = elementwise_max(total.workspaces[op], block.workspaces[op]);
        if (b >= frozen_blocks) kept += round_up_to_cache_lines(block.stash_after_forward);
    }
    const bool uses_cache = variant_.uses_cache && ends_frozen_layers(specs_[s]);
    const std::size_t cache_bytes = uses_cache ? count_stash_bytes_with_cache(model_, batch, variant_) : 0;
    total.peak.activations = std::max(total.peak.activations, cache_bytes);
    if (passes == BackwardPasses::none) return total;
    const std::size_t gradient_bytes = round_up_to_cache_lines(count_row_bytes(batch));
    const std::size_t all_row_bytes =
        round_up_to_cache_lines(batch.rows * model_.width * byte_size(variant_.dtype));
    if (frozen_blocks > 0) kept += uses_cache ? all_row_bytes : gradient_bytes;  // of the last frozen block
    total.peak.activations = std::max(kept, cache_bytes);
    for (std::size_t b = blocks.size(); passes != BackwardPasses::whole && b-- > frozen_blocks;) {
        if (find_level(b) == plan::Recompute::full) continue;
        const TrainingMemory& block = predict_block(blocks[b], find_level(b), batch, passes);
        if (b > frozen_blocks || discards_input_gradient(specs_[s])) kept += gradient_bytes;
        total.peak.activations =
            std::max(total.peak.activations, kept + block.peak.activations - block.stash_after_forward);
        kept += round_up_to_cache_lines(block.stash_after_input_half - block.stash_after_forward);
    }
    return total;
}

StepMemoryPlanner::StepBuffers StepMemoryPlanner::list_buffers(
    const schedule::Program& program, int team, const schedule::PipelineShape& shape,
    const std::vector<BatchShape>& batches, const std::vector<plan::MicrobatchLevels>& levels) {
    std::vector<bool> are_empty;
    for (const BatchShape& batch : batches) are_empty.push_back(batch.rows == 0);
    StepBuffers buffers{.uses = list_buffer_uses(program, team, shape, are_empty), .places = {}, .bytes = {}};
    const BackwardPasses passes = find_backward_passes(program);
    std::map<std::pair<int, std::size_t>, TrainingMemory> known;  // by stage and micro-batch
    const auto find_memory = [&](int stage, std::size_t microbatch) -> const TrainingMemory& {
        const auto [memory, is_new] = known.try_emplace({stage, microbatch});
        if (!is_new) return memory->second;
        const auto s = static_cast<std::size_t>(std::ranges::find(stages_, stage) - stages_.begin());
        return memory->second =
                   predict_stage(s, batches[microbatch], passes, plan::find_levels(levels, microbatch, stage));
    };
    for (const auto& [kind, taker, begin, end] : buffers.uses) {
        const auto microbatch = static_cast<std::size_t>(taker.microbatch % shape.microbatches);
        StepMemory::Place& place = buffers.places.emplace_back();
        if (kind == schedule::BufferKind::rows) {
            place.bytes = count_row_bytes(batches[microbatch]);
        } else {
            const TrainingMemory& memory = find_memory(taker.stage, microbatch);
            const bool is_stash = kind == schedule::BufferKind::stash;
            place.sizes = is_stash ? memory.peak : memory.workspaces[find_workspace_index(taker.op)];
            place.bytes = is_stash ? place.sizes.activations : place.sizes.count_workspace_bytes();
        }
        buffers.bytes.push_back(place.bytes);
    }
    return buffers;
}

StepMemory StepMemoryPlanner::plan_step(const schedule::Program& program, int team,
                                        const schedule::PipelineShape& shape,
                                        const std::vector<BatchShape>& batches,
                                        const std::vector<plan::MicrobatchLevels>& levels) {
    StepBuffers buffers = list_buffers(program, team, shape, batches, levels);
    const schedule::BufferPlacement placement = place_buffers(buffers.uses, buffers.bytes);
    StepMemory memory{.places = {}, .bytes = placement.bytes};
    for (std::size_t i = 0; i < buffers.uses.size(); ++i) {
        const auto& [kind, taker, begin, end] = buffers.uses[i];
        buffers.places[i].offset = placement.offsets[i];
        memory.places[{kind, taker.op, taker.stage, taker.microbatch % shape.microbatches}] = buffers.places[i];
    }
    return memory;
}

bool StepMemoryPlanner::can_hold_step(const schedule::Program& program, int team,
                                      const schedule::PipelineShape& shape,
                                      const std::vector<BatchShape>& batches, std::size_t max_bytes) {
    const StepBuffers buffers = list_buffers(program, team, shape, batches, {});
    return can_place_buffers(buffers.uses, buffers.bytes, max_bytes);
}

}  // namespace trireme::stage
