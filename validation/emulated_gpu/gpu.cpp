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

constexpr double longest_stand = 30;  // seconds without progress of any queue

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
    bool is_alone = false;

    void do_what_can_be_done() {
        while (do_next()) {
        }
    }

    // Returns false if there is no job, or if the next one is not ready.
    bool do_next() {
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
    std::size_t most_bytes = 0;
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

void do_all(Queue& queue) {
    double last_turn = device::now_seconds();
    while (!queue.jobs.empty()) {
        if (queue.do_next()) {
            last_turn = device::now_seconds();
            continue;
        }
        emulated::let_gpu_go_on();
        if (device::now_seconds() - last_turn > longest_stand) throw BugError("the emulated GPU stands still");
        sched_yield();
    }
}

// Counts submitted kernels. From kernel number `until_it_hangs` on, the GPU executes nothing more.
struct Kernels {
    std::size_t started = 0;
    std::size_t until_it_hangs = 0;  // 0 if it never hangs

    bool has_hung() const { return until_it_hangs > 0 && started >= until_it_hangs; }
};

std::size_t told_to_hang_after() {
    const char* const told = std::getenv("TRIREME_EMULATED_GPU_HANGS_AFTER");
    return told == nullptr ? 0 : std::stoul(told);
}

Kernels& kernels() {
    static Kernels all{.until_it_hangs = told_to_hang_after()};
    return all;
}

void do_everything() {
    const Turn turn;
    for (Queue* const queue : queues()) do_all(*queue);
}

bool is_all_done_but_alone() {
    bool is_done = true;
    for (Queue* const queue : queues()) {
        if (queue->is_alone) continue;
        queue->do_what_can_be_done();
        is_done = is_done && queue->jobs.empty();
    }
    if (!is_done) emulated::let_gpu_go_on();
    return is_done;
}

// Waits for all queues except those made by alone(), like CUDA's default stream.
void do_behind_all_but_alone(const device::Patience& patience, const std::function<void()>& work) {
    const auto is_done = [&] {
        const Turn turn;
        if (!is_all_done_but_alone()) return false;
        work();
        return true;
    };
    wait_until(is_done, patience, [] { return "its GPU to do all that it was given"; });
}

void* new_queue(bool is_alone) {
    const Turn turn;
    queues().push_back(new Queue{.is_alone = is_alone});
    return queues().back();
}

Moment& moment_of(void* event) { return *static_cast<Moment*>(event); }
Queue& queue_of(void* stream) { return *static_cast<Queue*>(stream); }

// Allocates no spare bytes, so that the address sanitizer finds accesses beyond the end.
std::byte* take_aligned(std::size_t bytes) {
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
                      .processors = 1,
                      .shared_memory_bytes = shared_memory_bytes}}};
}

void use_gpu(int number) {
    if (number != 0) throw ResourceError(cat("there is no GPU ", number));
}

GpuFacts gpu_in_use() { return find_gpus().gpus.front(); }

std::size_t free_gpu_memory() {
    const Turn turn;
    return memory_bytes - memory_taken().bytes;
}

std::byte* take_gpu_memory(std::size_t bytes) {
    const Turn turn;
    Memory& taken = memory_taken();
    if (bytes > memory_bytes - taken.bytes)
        throw ResourceError(cat("the emulated GPU has no ", bytes, " bytes more"));
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
    taken.most_bytes = std::max(taken.most_bytes, taken.bytes);
    taken.takes += 1;
    return memory;
}

// If the GPU hangs, its queues still use the memory, so it is released only when the process ends.
void give_back_gpu_memory(std::byte* memory) noexcept {
    const Turn turn;
    if (kernels().has_hung()) return;
    do_everything();
    const Block block = memory_taken().blocks.extract(memory).mapped();
    memory_taken().bytes -= block.bytes;
    ASAN_UNPOISON_MEMORY_REGION(block.begin, block.bytes + alignment);
    std::free(block.begin);
}

std::size_t most_gpu_memory() {
    const Turn turn;
    return memory_taken().most_bytes;
}

void forget_most_gpu_memory() {
    const Turn turn;
    memory_taken().most_bytes = memory_taken().bytes;
}

std::byte* take_pinned_memory(std::size_t bytes) { return take_aligned(bytes); }

void give_back_pinned_memory(std::byte* memory) noexcept {
    const Turn turn;
    if (kernels().has_hung()) return;
    do_everything();
    give_back(memory);
}

void copy_gpu_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows) {
    do_behind_all_but_alone({}, [&] {
        for (std::size_t r = 0; r < rows && row_bytes > 0; ++r) {
            std::memmove(static_cast<std::byte*>(to) + r * to_stride,
                         static_cast<const std::byte*>(from) + r * from_stride, row_bytes);
        }
    });
}

void wait_for_gpu(const void* /*memory*/, const Patience& patience) {
    do_behind_all_but_alone(patience, [] {});
}

void sum_in_order_on_gpu(Tensor own, std::size_t self, ConstTensor others) {
    own.place = others.place = MemorySpace::host;
    do_behind_all_but_alone({}, [&] { sum_in_order(own, self, others); });
}

GpuMoment::GpuMoment() : event_(new Moment) {}
GpuMoment::~GpuMoment() { delete static_cast<Moment*>(event_); }
GpuMoment::GpuMoment(GpuMoment&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
GpuMoment& GpuMoment::operator=(GpuMoment&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
}

// Each call also advances the GPU.
bool GpuMoment::is_over() const {
    const Turn turn;
    const std::shared_ptr<Mark> mark = moment_of(event_).mark;
    if (mark != nullptr && !mark->is_over && !mark->queue->do_next()) emulated::let_gpu_go_on();
    return mark == nullptr || mark->is_over;
}

double GpuMoment::seconds_since(const GpuMoment& earlier) const {
    return moment_of(event_).mark->seconds - moment_of(earlier.event_).mark->seconds;
}

GpuQueue::GpuQueue() : stream_(new_queue(false)) {}
GpuQueue GpuQueue::alone() { return GpuQueue(new_queue(true)); }

GpuQueue::~GpuQueue() {
    if (stream_ == nullptr) return;
    const Turn turn;
    if (kernels().has_hung()) return;
    do_everything();
    std::erase(queues(), &queue_of(stream_));
    delete static_cast<Queue*>(stream_);
}

GpuQueue::GpuQueue(GpuQueue&& other) noexcept
    : stream_(std::exchange(other.stream_, nullptr)), patience_(other.patience_) {}
GpuQueue& GpuQueue::operator=(GpuQueue&& other) noexcept {
    std::swap(stream_, other.stream_);
    std::swap(patience_, other.patience_);
    return *this;
}

void GpuQueue::copy(void* to, const void* from, std::size_t bytes) {
    if (bytes == 0) return;
    emulated::do_later(*this, [=] { std::memmove(to, from, bytes); });
}

void GpuQueue::clear(void* memory, std::size_t bytes) {
    if (bytes == 0) return;
    emulated::do_later(*this, [=] { std::memset(memory, 0, bytes); });
}

void GpuQueue::mark(GpuMoment& moment) {
    const Turn turn;
    const auto mark = std::make_shared<Mark>(Mark{.queue = &queue_of(stream_)});
    moment_of(moment.event_).mark = mark;
    emulated::do_later(*this, [mark] {
        mark->is_over = true;
        mark->seconds = now_seconds();
    });
}

// Waits for the moment's current mark. The marked queue is advanced only until that mark.
void GpuQueue::wait_for(const GpuMoment& moment) {
    const std::shared_ptr<Mark> mark = moment_of(moment.event_).mark;
    if (mark == nullptr) return;
    emulated::stand_until(stream_, [mark] {
        if (!mark->is_over) mark->queue->do_next();
        return mark->is_over;
    });
}

bool GpuQueue::is_idle() const {
    const Turn turn;
    Queue& queue = queue_of(stream_);
    queue.do_what_can_be_done();
    if (!queue.jobs.empty()) emulated::let_gpu_go_on();
    return queue.jobs.empty();
}

void start_kernel(GpuQueue& /*queue*/, const GpuGrid& /*grid*/, const void* /*kernel*/, void** /*arguments*/) {
    throw BugError("the emulated GPU runs no CUDA kernels");
}

}  // namespace device

namespace emulated {

void do_later(device::GpuQueue& queue, std::function<void()> job) {
    stand_until(queue.native(), [now = std::move(job)] {
        now();
        return true;
    });
}

void stand_until(void* stream, std::function<bool()> is_over) {
    constexpr std::size_t most_ahead = 1000;  // CUDA also limits the number of pending jobs and then blocks
    const Turn turn;
    Queue& queue = queue_of(stream);
    if (kernels().has_hung() && queue.jobs.size() >= most_ahead)
        throw BugError("a GPU that hangs was given more than CUDA takes: the processor would hang with it");
    queue.jobs.push_back(std::move(is_over));
}

std::size_t times_memory_was_taken() {
    const Turn turn;
    return memory_taken().takes;
}

void let_gpu_go_on() {
    const Turn turn;
    for (Queue* const queue : queues())
        if (queue->is_alone) queue->do_next();
}

void start_kernel(device::GpuQueue& queue, const device::GpuGrid& grid, std::function<void()> thread) {
    if (grid.threads == 0 || grid.threads > 1024 || grid.threads % warp_size != 0)
        throw BugError(cat("a block of ", grid.threads, " threads"));
    if (grid.shared_bytes > shared_memory_bytes)
        throw BugError(cat("a block has no ", grid.shared_bytes, " bytes of shared memory"));
    kernels().started += 1;
    if (kernels().has_hung()) stand_until(queue.native(), [] { return false; });
    do_later(queue, [grid, run = std::move(thread)] {
        run_grid({grid.blocks_x, grid.blocks_y, grid.blocks_z}, {grid.threads, 1, 1}, grid.shared_bytes, run);
    });
}

}  // namespace emulated
}  // namespace trireme
