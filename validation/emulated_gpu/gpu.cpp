// A GPU with one multiprocessor that computes on the CPU, for tests.
#include "trireme/device/gpu.hpp"

#include <sanitizer/asan_interface.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "emulated_gpu/memory.hpp"
#include "emulated_gpu/queue.hpp"
#include "emulated_gpu/thread.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/buffer.hpp"
#include "trireme/device/clock.hpp"

namespace trireme {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t memory_bytes = std::size_t{8} << 30;
constexpr std::size_t shared_memory_bytes = 227 * 1024;
constexpr double max_stall_seconds = 30;  // seconds without progress of any queue

struct Queue;
struct Mark {
    Queue* queue = nullptr;
    bool is_over = false;
    double seconds = 0;
};

struct Moment {
    std::shared_ptr<Mark> mark;  // the latest mark
};

struct Queue {
    std::deque<std::function<bool()>> jobs = {};
    bool is_non_blocking = false;

    void run_ready_jobs() {
        while (run_next_job()) {
        }
    }

    // Returns false if there is no job, or if the next one is not ready.
    bool run_next_job() {
        if (jobs.empty()) return false;
        std::function<bool()> job = std::move(jobs.front());
        jobs.pop_front();
        if (job()) return true;
        jobs.push_front(std::move(job));
        return false;
    }
};

// Only one thread of the process uses the GPU at a time.
class Turn {
public:
    Turn() : lock_(mutex_) {}

private:
    static inline std::recursive_mutex mutex_;
    std::lock_guard<std::recursive_mutex> lock_;
};

// An allocated block of GPU memory.
struct Block {
    void* begin;  // what calloc() returned
    std::size_t bytes;
};
struct Memory {
    std::map<const std::byte*, Block> blocks = {};
    std::size_t bytes = 0;
    std::size_t max_bytes = 0;
    std::size_t takes = 0;
};

Memory& memory_taken() {
    static Memory all;
    return all;
}

std::vector<Queue*>& queues() {
    static std::vector<Queue*> all;
    return all;
}

void finish_queue(Queue& queue) {
    double last_progress = device::now_seconds();
    while (!queue.jobs.empty()) {
        if (queue.run_next_job()) {
            last_progress = device::now_seconds();
            continue;
        }
        emulated::advance_gpu();
        if (device::now_seconds() - last_progress > max_stall_seconds)
            throw BugError("the emulated GPU makes no progress");
        sched_yield();
    }
}

// Counts submitted kernels. From kernel number `hangs_at` on, the GPU executes nothing more.
struct Kernels {
    std::size_t started = 0;
    std::size_t hangs_at = 0;  // 0 if it never hangs

    bool has_hung() const { return hangs_at > 0 && started >= hangs_at; }
};

std::size_t read_hang_setting() {
    const char* const text = std::getenv("TRIREME_EMULATED_GPU_HANGS_AFTER");
    return text == nullptr ? 0 : std::stoul(text);
}

Kernels& kernels() {
    static Kernels all{.hangs_at = read_hang_setting()};
    return all;
}

void finish_all_queues() {
    const Turn turn;
    for (Queue* const queue : queues()) finish_queue(*queue);
}

bool are_blocking_queues_idle() {
    bool is_done = true;
    for (Queue* const queue : queues()) {
        if (queue->is_non_blocking) continue;
        queue->run_ready_jobs();
        is_done = is_done && queue->jobs.empty();
    }
    if (!is_done) emulated::advance_gpu();
    return is_done;
}

// Waits for all queues except those made by make_non_blocking(), like CUDA's default stream.
void run_after_blocking_queues(const device::WaitPolicy& wait_policy, const std::function<void()>& work) {
    const auto is_done = [&] {
        const Turn turn;
        if (!are_blocking_queues_idle()) return false;
        work();
        return true;
    };
    wait_until(is_done, wait_policy, [] { return "its GPU to finish all queued work"; });
}

void* make_queue(bool is_non_blocking) {
    const Turn turn;
    queues().push_back(new Queue{.is_non_blocking = is_non_blocking});
    return queues().back();
}

Moment& moment_of(void* event) { return *static_cast<Moment*>(event); }
Queue& queue_of(void* stream) { return *static_cast<Queue*>(stream); }

// Allocates no spare bytes, so that the address sanitizer finds accesses beyond the end.
std::byte* allocate_aligned(std::size_t bytes) {
    return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}));
}

void give_back(std::byte* memory) { ::operator delete (memory, std::align_val_t{alignment}); }

// By default the ranks of a machine share one GPU; with the variable each finds its own.
std::string bus_id() {
    if (std::getenv("TRIREME_EMULATED_GPU_EACH") == nullptr) return "0000:01:00.0";
    return cat("process ", getpid());
}

}  // namespace

namespace device {

GpuSearch find_gpus() {
    return {.gpus = {{.name = "emulated GPU",
                      .bus_id = bus_id(),
                      .capability = 90,
                      .memory_bytes = memory_bytes,
                      .multiprocessors = 1,
                      .shared_memory_bytes = shared_memory_bytes}}};
}

void select_gpu(int number) {
    if (number != 0) throw ResourceError(cat("there is no GPU ", number));
}

GpuFacts selected_gpu() { return find_gpus().gpus.front(); }

std::size_t count_free_gpu_bytes() {
    const Turn turn;
    return memory_bytes - memory_taken().bytes;
}

std::byte* allocate_gpu_memory(std::size_t bytes) {
    const Turn turn;
    Memory& taken = memory_taken();
    if (bytes > memory_bytes - taken.bytes)
        throw ResourceError(cat("the emulated GPU has no ", bytes, " more bytes"));
    // The system provides zeroed pages at first touch, and most of a kernel's scratch memory is never touched.
    std::size_t room = bytes + alignment;
    void* const begin = std::calloc(1, room);
    if (begin == nullptr) throw std::bad_alloc();
    void* aligned = begin;
    std::align(alignment, bytes, aligned, room);
    auto* const memory = static_cast<std::byte*>(aligned);
    ASAN_POISON_MEMORY_REGION(begin, memory - static_cast<std::byte*>(begin));
    ASAN_POISON_MEMORY_REGION(memory + bytes, room - bytes);
    taken.blocks[memory] = {begin, bytes};
    taken.bytes += bytes;
    taken.max_bytes = std::max(taken.max_bytes, taken.bytes);
    taken.takes += 1;
    return memory;
}

// If the GPU hangs, its queues still use the memory, so it is released only when the process ends.
void free_gpu_memory(std::byte* memory) noexcept {
    const Turn turn;
    if (kernels().has_hung()) return;
    finish_all_queues();
    const Block block = memory_taken().blocks.extract(memory).mapped();
    memory_taken().bytes -= block.bytes;
    ASAN_UNPOISON_MEMORY_REGION(block.begin, block.bytes + alignment);
    std::free(block.begin);
}

std::size_t peak_gpu_bytes() {
    const Turn turn;
    return memory_taken().max_bytes;
}

void reset_peak_gpu_bytes() {
    const Turn turn;
    memory_taken().max_bytes = memory_taken().bytes;
}

std::byte* allocate_pinned_memory(std::size_t bytes) { return allocate_aligned(bytes); }

void free_pinned_memory(std::byte* memory) noexcept {
    const Turn turn;
    if (kernels().has_hung()) return;
    finish_all_queues();
    give_back(memory);
}

void copy_gpu_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows) {
    run_after_blocking_queues({}, [&] {
        for (std::size_t r = 0; r < rows && row_bytes > 0; ++r) {
            std::memmove(static_cast<std::byte*>(to) + r * to_stride,
                         static_cast<const std::byte*>(from) + r * from_stride, row_bytes);
        }
    });
}

void wait_for_gpu(const void* /*memory*/, const WaitPolicy& wait_policy) {
    run_after_blocking_queues(wait_policy, [] {});
}

void sum_in_order_on_gpu(Tensor own, std::size_t self, ConstTensor others) {
    own.memory_space = others.memory_space = MemorySpace::host;
    run_after_blocking_queues({}, [&] { sum_in_order(own, self, others); });
}

GpuEvent::GpuEvent() : event_(new Moment) {}
GpuEvent::~GpuEvent() { delete static_cast<Moment*>(event_); }
GpuEvent::GpuEvent(GpuEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
GpuEvent& GpuEvent::operator=(GpuEvent&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
}

// Each call also advances the GPU.
bool GpuEvent::is_over() const {
    const Turn turn;
    const std::shared_ptr<Mark> mark = moment_of(event_).mark;
    if (mark != nullptr && !mark->is_over && !mark->queue->run_next_job()) emulated::advance_gpu();
    return mark == nullptr || mark->is_over;
}

double GpuEvent::seconds_since(const GpuEvent& earlier) const {
    return moment_of(event_).mark->seconds - moment_of(earlier.event_).mark->seconds;
}

GpuQueue::GpuQueue() : stream_(make_queue(false)) {}
GpuQueue GpuQueue::make_non_blocking() { return GpuQueue(make_queue(true)); }
void GpuQueue::call(std::function<void()> function) { emulated::submit_job(*this, std::move(function)); }

GpuQueue::~GpuQueue() {
    if (stream_ == nullptr) return;
    const Turn turn;
    if (kernels().has_hung()) return;
    finish_all_queues();
    std::erase(queues(), &queue_of(stream_));
    delete static_cast<Queue*>(stream_);
}

GpuQueue::GpuQueue(GpuQueue&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)), wait_policy_(other.wait_policy_) {}
GpuQueue& GpuQueue::operator=(GpuQueue&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(wait_policy_, other.wait_policy_);
    return *this;
}

void GpuQueue::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    emulated::submit_job(*this, [=] { std::memmove(to, from, bytes); });
}

void GpuQueue::clear(void* memory, std::size_t bytes) {
    if (bytes == 0) return;
    emulated::submit_job(*this, [=] { std::memset(memory, 0, bytes); });
}

void GpuQueue::mark(GpuEvent& moment) {
    const Turn turn;
    const auto mark = std::make_shared<Mark>(Mark{.queue = &queue_of(stream_)});
    moment_of(moment.event_).mark = mark;
    emulated::submit_job(*this, [mark] {
        mark->is_over = true;
        mark->seconds = now_seconds();
    });
}

// Waits for the moment's current mark. The marked queue is advanced only until that mark.
void GpuQueue::wait_for(const GpuEvent& moment) {
    const std::shared_ptr<Mark> mark = moment_of(moment.event_).mark;
    if (mark == nullptr) return;
    emulated::submit_until(stream_, [mark] {
        if (!mark->is_over) mark->queue->run_next_job();
        return mark->is_over;
    });
}

bool GpuQueue::is_idle() const {
    const Turn turn;
    Queue& queue = queue_of(stream_);
    queue.run_ready_jobs();
    if (!queue.jobs.empty()) emulated::advance_gpu();
    return queue.jobs.empty();
}

void launch_kernel(GpuQueue& /*queue*/, const GpuGrid& /*grid*/, const void* /*kernel*/, void** /*arguments*/) {
    throw BugError("the emulated GPU runs no CUDA kernels");
}

}  // namespace device

namespace emulated {

void submit_job(device::GpuQueue& queue, std::function<void()> job) {
    submit_until(queue.native(), [now = std::move(job)] {
        now();
        return true;
    });
}

void submit_until(void* stream, std::function<bool()> is_over) {
    constexpr std::size_t max_ahead = 1000;  // CUDA also limits the number of pending jobs and then blocks
    const Turn turn;
    Queue& queue = queue_of(stream);
    if (kernels().has_hung() && queue.jobs.size() >= max_ahead)
        throw BugError("a hung GPU has more pending jobs than CUDA accepts: the CPU would hang with it");
    queue.jobs.push_back(std::move(is_over));
}

std::size_t times_memory_was_taken() {
    const Turn turn;
    return memory_taken().takes;
}

void advance_gpu() {
    const Turn turn;
    for (Queue* const queue : queues())
        if (queue->is_non_blocking) queue->run_next_job();
}

void launch_kernel(device::GpuQueue& queue, const device::GpuGrid& grid, std::function<void()> thread) {
    if (grid.threads == 0 || grid.threads > 1024 || grid.threads % warp_size != 0)
        throw BugError(cat("a block of ", grid.threads, " threads"));
    if (grid.shared_bytes > shared_memory_bytes)
        throw BugError(cat("a block has no ", grid.shared_bytes, " bytes of shared memory"));
    kernels().started += 1;
    if (kernels().has_hung()) submit_until(queue.native(), [] { return false; });
    submit_job(queue, [grid, run = std::move(thread)] {
        run_grid({grid.blocks_x, grid.blocks_y, grid.blocks_z}, {grid.threads, 1, 1}, grid.shared_bytes, run);
    });
}

}  // namespace emulated
}  // namespace trireme
