#include "trireme/stage/pass_buffers.hpp"

#include <algorithm>

#include "trireme/base/numbers.hpp"

namespace trireme::stage {
namespace {

device::BufferPart allocate_state(std::size_t bytes, device::MemorySpace memory_space) {
    if (bytes == 0) return {};
    return {.buffer = std::make_shared<device::Buffer>(bytes, memory_space), .bytes = bytes};
}

}  // namespace

PassBuffers::PassBuffers(const LocalWork& work, device::MemorySpace memory_space)
    : rank_(work.rank),
      team_(work.team),
      planner_(work),
      work_equal_buffers_(work.equal_buffers),
      max_bytes_(work.max_step_bytes),
      offloadable_bytes_(work.offloadable_bytes),
      dtype_(work.variant.dtype),
      width_(work.model.width),
      memory_space_(memory_space),
      block_(std::make_shared<device::Buffer>(0, memory_space)),
      state_(allocate_state(offloadable_bytes_, memory_space)),
      workspace_({}, memory_space) {}

void PassBuffers::change(const LocalWork& work) {
    planner_ = StepMemoryPlanner(work);
    work_equal_buffers_ = work.equal_buffers;
    team_ = work.team;
    max_bytes_ = work.max_step_bytes;
    if (block_->bytes() > max_bytes_) block_ = std::make_shared<device::Buffer>(0, memory_space_);
}

void PassBuffers::reserve(std::size_t bytes) {
    if (is_ghost() || block_->bytes() >= bytes) return;
    block_.reset();  // frees the memory before the larger block is allocated
    block_ = std::make_shared<device::Buffer>(bytes, memory_space_);
}

void PassBuffers::move_state_into_block(device::OffloadStore& store, const PlaceState& place) {
    move_state(store, place, [&]() -> device::BufferPart {
        block_ = std::make_shared<device::Buffer>(max_bytes_, memory_space_);
        return {.buffer = block_, .offset = state_begin(), .bytes = offloadable_bytes_};
    });
    offload_.emplace(block_->data(), state_begin(), store);
}

void PassBuffers::move_state_out_of_block(device::OffloadStore& store, const PlaceState& place) {
    return_state();
    offload_.reset();
    move_state(store, place, [&] { return allocate_state(offloadable_bytes_, memory_space_); });
}

// Frees the old memory of the state, and the block, before `allocate` is called for the new memory.
void PassBuffers::move_state(device::OffloadStore& store, const PlaceState& place,
                             const std::function<device::BufferPart()>& allocate) {
    store.save(state_.data(), 0, state_.bytes)->wait();
    place({});
    state_ = {};
    block_ = std::make_shared<device::Buffer>(0, memory_space_);
    state_ = allocate();
    store.load(state_.data(), 0, state_.bytes)->wait();
    place(state_);
}

void PassBuffers::return_state() {
    if (offload_) offload_->return_all();
}

void PassBuffers::begin(const schedule::Program& program, const schedule::PipelineShape& shape) {
    program_ = &program;
    shape_ = &shape;
    steps_.clear();
    free_buffers_.clear();
    steps_added_ = 0;
    buffers_in_use_ = peak_bytes_ = 0;
    if (is_ghost() || !uses_equal_buffers()) return;
    reserve(work_equal_buffers_->count_bytes());
    std::byte* next = block_->data() + work_equal_buffers_->sizes.count_workspace_bytes();
    const auto cut = [&](schedule::BufferKind kind, std::size_t count, std::size_t bytes) {
        std::vector<std::byte*>& free_buffers = free_buffers_[kind];
        for (std::size_t i = 0; i < count; ++i, next += round_up_to_cache_lines(bytes))
            free_buffers.push_back(next);
        std::ranges::reverse(free_buffers);  // buffers are taken from the end of the list
    };
    cut(schedule::BufferKind::stash, work_equal_buffers_->stashes, work_equal_buffers_->sizes.activations);
    cut(schedule::BufferKind::rows, work_equal_buffers_->rows, work_equal_buffers_->row_bytes);
}

void PassBuffers::add_step(const StepWork& work) {
    const int step = steps_added_++;
    if ((is_ghost() && !(offload_ && work.offloads_state)) || uses_equal_buffers()) return;
    std::vector<BatchShape> shapes;
    for (const model::TokenBatch* const batch : work.batches)
        shapes.push_back(batch == nullptr ? BatchShape{} : find_shape(*batch));
    const StepMemory& memory =
        steps_.emplace(step, planner_.plan_step(*program_, team_, *shape_, shapes, work.levels)).first->second;
    if (memory.bytes > max_block_bytes())
        throw BugError(cat("rank ", rank_, " needs ", memory.bytes,
                           " bytes for the activations and messages of a step, but only ", max_block_bytes(),
                           " bytes are allowed"));
    if (offload_) offload_->begin_step(memory);
}

PassBuffers::Buffer PassBuffers::take(schedule::BufferKind kind, const schedule::Instruction& taker) {
    if (uses_equal_buffers()) return take_equal_buffer(kind);
    const StepMemory& memory = steps_.at(shape_->find_step(taker.microbatch));
    if (buffers_in_use_ == 0) reserve(memory.bytes);
    if (kind != schedule::BufferKind::workspace) ++buffers_in_use_;
    const StepMemory::Place& place =
        memory.places.at({kind, taker.op, taker.stage, taker.microbatch % shape_->microbatches});
    std::byte* const memory_of_place = block_->data() + place.offset;
    if (offload_) offload_->take(memory_of_place, place.bytes);
    return {.memory = memory_of_place, .sizes = place.sizes, .bytes = place.bytes};
}

PassBuffers::Buffer PassBuffers::take_equal_buffer(schedule::BufferKind kind) {
    const StageMemory& sizes = work_equal_buffers_->sizes;
    if (kind == schedule::BufferKind::workspace) return {.memory = block_->data(), .sizes = sizes};
    std::vector<std::byte*>& free_buffers = free_buffers_[kind];
    if (free_buffers.empty()) throw BugError("all buffers for activations are in use");
    std::byte* const memory = free_buffers.back();
    free_buffers.pop_back();
    return {.memory = memory, .sizes = sizes, .bytes = work_equal_buffers_->row_bytes};
}

void PassBuffers::free(schedule::BufferKind kind, std::byte* memory) {
    if (is_ghost()) return;
    uses_equal_buffers() ? free_buffers_[kind].push_back(memory) : void(--buffers_in_use_);
}

void PassBuffers::record_use(const std::byte* memory, std::size_t bytes) {
    if (is_ghost()) return;
    peak_bytes_ = std::max(peak_bytes_, static_cast<std::size_t>(memory - block_->data()) + bytes);
}

void PassBuffers::begin_pass(const schedule::Instruction& instruction) {
    if (lacks_places(instruction)) return;
    const Buffer buffer = take(schedule::BufferKind::workspace, instruction);
    workspace_memory_ = buffer.memory;
    if (!is_ghost()) workspace_.move_to(buffer.memory, buffer.sizes);
}

void PassBuffers::end_pass() {
    record_use(workspace_memory_, workspace_.count_used_bytes());
    if (offload_) offload_->give_back(workspace_memory_);
}

std::unique_ptr<ActivationStash> PassBuffers::take_stash(const schedule::Instruction& forward) {
    auto stash = std::make_unique<ActivationStash>(0, memory_space_);
    if (lacks_places(forward)) return stash;
    const Buffer buffer = take(schedule::BufferKind::stash, forward);
    stash->memory = buffer.memory;
    if (!is_ghost()) stash->arena.move_to(buffer.memory, buffer.sizes.activations);
    return stash;
}

void PassBuffers::give_back(std::unique_ptr<ActivationStash>& stash) {
    record_use(stash->memory, stash->arena.peak());
    if (offload_) offload_->give_back(stash->memory);
    free(schedule::BufferKind::stash, stash->memory);
    stash.reset();
}

device::Tensor PassBuffers::take_rows(const schedule::Instruction& taker, std::size_t rows) {
    device::Arena arena("message", 0, memory_space_);
    if (lacks_places(taker)) return arena.tensor(dtype_, rows, width_);
    const Buffer buffer = take(schedule::BufferKind::rows, taker);
    arena.move_to(buffer.memory, buffer.bytes);
    record_use(buffer.memory, rows * width_ * byte_size(dtype_));
    return arena.tensor(dtype_, rows, width_);
}

void PassBuffers::give_back(device::Tensor& rows) {
    // is_present() is false for a buffer with 0 rows
    if (offload_ && rows.is_present()) offload_->give_back(static_cast<const std::byte*>(rows.data));
    if (rows.data != nullptr) free(schedule::BufferKind::rows, static_cast<std::byte*>(rows.data));
    rows = {};
}

}  // namespace trireme::stage
