#include "trireme/stage/step_memory.hpp"

#include <algorithm>
#include <set>

#include "trireme/base/numbers.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::stage {
namespace {

// Returns a text that is equal for blocks that need equal memory.
std::string make_block_key(const model::ModelConfig& model, const StageSpec& block) {
    std::string key = cat(block.layers.begin == 0 ? "first " : "", "rank ", block.part.rank, " of");
    for (const std::size_t share : block.part.shares) key += cat(' ', share);
    for (const model::Layer& layer : build_layers(model, block.part, block.layers))
        key += cat(' ', find_kind(layer));
    return cat(key, ' ', to_string(block.recompute));
}

// Returns a shape whose counts are at least those of each shape in `batches`.
BatchShape find_largest(const std::vector<BatchShape>& batches) {
    BatchShape largest{.segments = {}, .predicted_rows = 0};
    for (const BatchShape& batch : batches) {
        if (batch.segments.size() > largest.segments.size()) largest.segments = batch.segments;
        largest.rows = std::max(largest.rows, batch.rows);
        largest.predicted_rows =
            std::max(largest.predicted_rows, std::optional(batch.predicted_rows.value_or(batch.rows)));
    }
    return largest;
}

}  // namespace

std::size_t EqualBuffers::count_bytes() const {
    return sizes.count_workspace_bytes() + stashes * round_up_to_cache_lines(sizes.activations) +
           rows * round_up_to_cache_lines(row_bytes);
}

StepMemoryPlanner::StepMemoryPlanner(const LocalWork& work)
    : model_(work.model),
      stages_(work.stages),
      team_(work.team),
      variant_(work.variant),
      max_step_bytes_(work.max_step_bytes) {
    std::map<std::string, std::size_t> kinds;
    for (const StageSpec& spec : work.specs) {
        std::vector<std::size_t>& blocks = blocks_.emplace_back();
        for (const layout::Range& layers : list_blocks(work.model, spec.layers)) {
            const StageSpec block{.layers = layers, .part = spec.part, .recompute = spec.recompute};
            const auto [kind, is_new] = kinds.try_emplace(make_block_key(work.model, block), kinds_.size());
            if (is_new) kinds_.push_back(block);
            blocks.push_back(kind->second);
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

// Returns the memory of a block in training. With split backward passes, the sizes of all buffers but the stash
// are the maximum over whole and split passes, because a program may contain both.
const TrainingMemory& StepMemoryPlanner::predict_block(std::size_t kind, const BatchShape& batch,
                                                       bool is_split) {
    constexpr std::size_t max_known = 1 << 14;
    if (known_.size() == max_known) known_.clear();
    const std::size_t predicted_rows = batch.predicted_rows.value_or(batch.rows);
    const auto [known, is_new] =
        known_.try_emplace({kind, is_split, batch.rows, batch.segments.size(), predicted_rows});
    TrainingMemory& memory = known->second;
    if (!is_new) return memory;
    const StageSpec& spec = kinds_[kind];
    PassVariant variant = variant_;
    variant.halves = BackwardHalves::together;
    memory = predict_training(model_, spec, batch, variant);
    if (is_split && spec.recompute != plan::Recompute::full) {
        const StageMemory whole = memory.peak;
        variant.halves = BackwardHalves::apart;
        memory = predict_training(model_, spec, batch, variant);
        memory.peak = elementwise_max(memory.peak, whole);
    }
    return memory;
}

// A stage keeps the stashes of all blocks. The first half of a split backward pass also keeps the gradients
// between the blocks, and what each block needs for its second half. It begins with the last block, which may
// need temporaries on top of what is kept.
StageMemory StepMemoryPlanner::predict_stage(std::size_t s, const BatchShape& batch, bool is_training,
                                             bool is_split) {
    if (!is_training) return predict_evaluation_stage(s, batch);
    StageMemory total;
    std::size_t kept = 0;
    for (const std::size_t kind : blocks_[s]) {
        const TrainingMemory& block = predict_block(kind, batch, is_split);
        total = elementwise_max(total, block.peak);
        kept += round_up_to_cache_lines(block.stash_after_forward);
    }
    total.activations = kept;
    const std::size_t gradient_bytes = round_up_to_cache_lines(count_row_bytes(batch));
    for (std::size_t b = blocks_[s].size(); is_split && b-- > 0;) {
        const TrainingMemory& block = predict_block(blocks_[s][b], batch, is_split);
        if (kinds_[blocks_[s][b]].recompute == plan::Recompute::full) continue;  // runs no half by itself
        if (b > 0) kept += gradient_bytes;
        total.activations =
            std::max(total.activations, kept + block.peak.activations - block.stash_after_forward);
        kept += round_up_to_cache_lines(block.stash_after_input_half - block.stash_after_forward);
    }
    return total;
}

// An evaluation keeps the output of one block at a time.
StageMemory StepMemoryPlanner::predict_evaluation_stage(std::size_t s, const BatchShape& batch) const {
    StageMemory total;
    for (const std::size_t kind : std::set<std::size_t>(blocks_[s].begin(), blocks_[s].end()))
        total = elementwise_max(total, predict_evaluation(model_, kinds_[kind], batch, variant_));
    return total;
}

StepMemory StepMemoryPlanner::plan_step(const schedule::Program& program, const schedule::PipelineShape& shape,
                                        const std::vector<BatchShape>& batches) {
    std::vector<bool> are_empty;
    for (const BatchShape& batch : batches) are_empty.push_back(batch.rows == 0);
    const std::vector<schedule::BufferUse> uses = list_buffer_uses(program, team_, shape, are_empty);
    const bool is_split = std::ranges::any_of(
        program, [](const schedule::Instruction& each) { return each.op == schedule::Op::backward_input; });
    const auto find_sizes = [&](const schedule::BufferUse& use, const BatchShape& batch) {
        const auto s = static_cast<std::size_t>(std::ranges::find(stages_, use.taker.stage) - stages_.begin());
        return predict_stage(s, batch, shape.is_training, is_split);
    };
    const auto place = [&](auto&& find_batch) {
        std::vector<std::size_t> bytes;
        for (const schedule::BufferUse& use : uses) {
            const BatchShape& batch = find_batch(use.taker.microbatch);
            bytes.push_back(use.kind == schedule::BufferKind::rows ? count_row_bytes(batch)
                            : use.kind == schedule::BufferKind::stash
                                ? find_sizes(use, batch).activations
                                : find_sizes(use, batch).count_workspace_bytes());
        }
        return place_buffers(uses, bytes);
    };
    const auto find_batch = [&](int microbatch) -> const BatchShape& {
        return batches[static_cast<std::size_t>(microbatch % shape.microbatches)];
    };
    schedule::BufferPlacement placement = place(find_batch);
    if (placement.bytes > max_step_bytes_) {
        const BatchShape largest = find_largest(batches);
        placement = place([&](int) -> const BatchShape& { return largest; });
    }
    StepMemory memory{.places = {}, .bytes = placement.bytes};
    for (std::size_t i = 0; i < uses.size(); ++i) {
        const auto& [kind, taker, begin, end] = uses[i];
        const BatchShape& batch = find_batch(taker.microbatch);
        StepMemory::Place& buffer =
            memory.places[{kind, taker.op, taker.stage, taker.microbatch % shape.microbatches}];
        buffer.offset = placement.offsets[i];
        if (kind == schedule::BufferKind::rows) {
            buffer.bytes = count_row_bytes(batch);
        } else {
            buffer.sizes = find_sizes(uses[i], batch);
        }
    }
    return memory;
}

}  // namespace trireme::stage
