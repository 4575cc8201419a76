// A GPU of one multiprocessor that computes on the machine's processor, for tests.
#include "trireme/device/gpu.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <new>
#include <utility>

#include "emulated_gpu/queue.hpp"
#include "emulated_gpu/thread.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/ordered_sum.hpp"

namespace trireme {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t memory_bytes = std::size_t{8} << 30;
constexpr std::size_t shared_memory_bytes = 227 * 1024;

struct Moment {
    bool is_marked = false;
    bool is_over = false;
    double seconds = 0;
};

struct Queue {
    std::deque<std::function<void()>> jobs;

    void do_all() {
        while (!jobs.empty()) do_next();
    }
    void do_next() {
        const std::function<void()> job = std::move(jobs.front());
        jobs.pop_front();
        job();
    }
};

std::vector<Queue*>& queues() {
    static std::vector<Queue*> all;
    return all;
}

void do_everything() {
    for (Queue* const queue : queues()) queue->do_all();
}

Moment& moment_of(void* event) { return *static_cast<Moment*>(event); }
Queue& queue_of(void* stream) { return *static_cast<Queue*>(stream); }

// No byte more: the address sanitizer finds who reads or writes beyond them.
std::byte* take_aligned(std::size_t bytes) {
    return static_cast<std::byte*>(::operator new (bytes, std::align_val_t{alignment}));
}

}  // namespace

GpuSearch find_gpus() {
    return {.gpus = {{.name = "emulated GPU",
                      .capability = 90,
                      .memory_bytes = memory_bytes,
                      .processors = 1,
                      .shared_memory_bytes = shared_memory_bytes}}};
}

void use_gpu(int number) {
    if (number != 0) throw ResourceError(cat("there is no GPU ", number));
}

GpuFacts gpu_in_use() { return find_gpus().gpus.front(); }

std::size_t free_gpu_memory() { return memory_bytes; }

std::byte* take_gpu_memory(std::size_t bytes) {
    std::byte* const memory = take_aligned(bytes);
    std::fill_n(memory, bytes, std::byte{0});
    return memory;
}

void give_back_gpu_memory(std::byte* memory) noexcept {
    do_everything();
    ::operator delete (memory, std::align_val_t{alignment});
}

std::byte* take_pinned_memory(std::size_t bytes) { return take_aligned(bytes); }
void give_back_pinned_memory(std::byte* memory) noexcept { give_back_gpu_memory(memory); }

void copy_gpu_rows(void* to, std::size_t to_stride, const void* from, std::size_t from_stride,
                   std::size_t row_bytes, std::size_t rows) {
    do_everything();
    for (std::size_t r = 0; r < rows && row_bytes > 0; ++r) {
        std::memmove(static_cast<std::byte*>(to) + r * to_stride,
                     static_cast<const std::byte*>(from) + r * from_stride, row_bytes);
    }
}

void sum_in_order_on_gpu(Tensor own, std::size_t self, ConstTensor others) {
    do_everything();
    own.place = others.place = Place::memory;
    sum_in_order(own, self, others);
}

GpuMoment::GpuMoment() : event_(new Moment) {}
GpuMoment::~GpuMoment() {
    if (event_ != nullptr) do_everything();
    delete static_cast<Moment*>(event_);
}
GpuMoment::GpuMoment(GpuMoment&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
GpuMoment& GpuMoment::operator=(GpuMoment&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
}

// Asked again and again, the GPU goes on.
bool GpuMoment::is_over() const {
    const Moment& own = moment_of(event_);
    if (own.is_marked && !own.is_over) {
        for (Queue* const queue : queues())
            if (!queue->jobs.empty()) queue->do_next();
    }
    return !own.is_marked || own.is_over;
}

void GpuMoment::wait() const { do_everything(); }

double GpuMoment::seconds_since(const GpuMoment& earlier) const {
    return moment_of(event_).seconds - moment_of(earlier.event_).seconds;
}

GpuQueue::GpuQueue() : stream_(new Queue) { queues().push_back(&queue_of(stream_)); }

GpuQueue::~GpuQueue() {
    if (stream_ == nullptr) return;
    do_everything();
    std::erase(queues(), &queue_of(stream_));
    delete static_cast<Queue*>(stream_);
}

GpuQueue::GpuQueue(GpuQueue&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
GpuQueue& GpuQueue::operator=(GpuQueue&& other) noexcept {
    std::swap(stream_, other.stream_);
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
    Moment& own = moment_of(moment.event_);
    own = {.is_marked = true};
    emulated::do_later(*this, [&own] {
        own.is_over = true;
        own.seconds = now_seconds();
    });
}

// Of queues of one process: what was given before is done before.
void GpuQueue::wait_for(const GpuMoment& moment) {
    emulated::do_later(*this, [&own = moment_of(moment.event_)] {
        for (Queue* const queue : queues())
            while (own.is_marked && !own.is_over && !queue->jobs.empty()) queue->do_next();
    });
}

void GpuQueue::wait() { queue_of(stream_).do_all(); }

void start_kernel(GpuQueue& /*queue*/, const GpuGrid& /*grid*/, const void* /*kernel*/, void** /*arguments*/) {
    throw BugError("the emulated GPU runs no CUDA kernels");
}

namespace emulated {

void do_later(GpuQueue& queue, std::function<void()> job) {
    queue_of(queue.native()).jobs.push_back(std::move(job));
}

void start_kernel(GpuQueue& queue, const GpuGrid& grid, std::function<void()> thread) {
    if (grid.threads == 0 || grid.threads > 1024 || grid.threads % warp_size != 0)
        throw BugError(cat("a block of ", grid.threads, " threads"));
    if (grid.shared_bytes > shared_memory_bytes)
        throw BugError(cat("a block has no ", grid.shared_bytes, " bytes of shared memory"));
    do_later(queue, [grid, run = std::move(thread)] {
        run_grid({grid.blocks_x, grid.blocks_y, grid.blocks_z}, {grid.threads, 1, 1}, grid.shared_bytes, run);
    });
}

}  // namespace emulated
}  // namespace trireme
