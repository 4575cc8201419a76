#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "emulated_gpu/fiber.hpp"
#include "emulated_gpu/order.hpp"
#include "emulated_gpu/thread.hpp"
#include "trireme/base/random.hpp"

namespace trireme::emulated {
namespace {

enum class Waits : std::uint8_t { for_nothing, for_block, for_warp, for_next_block };

struct Thread {
    explicit Thread(std::function<void()> work) : fiber(std::move(work)) {}

    MemorySpace place;
    unsigned number = 0;  // index in its block
    Waits waits = Waits::for_nothing;
    unsigned lanes = 0;  // mask of the lanes that it waits for
    std::size_t value_bytes = 0;
    Fiber fiber;
};

// A block of threads, one of which runs at a time.
class Block {
public:
    Block(const Index& blocks, const Index& threads, std::size_t shared_bytes,
          const std::function<void()>& body);

    void run_all();
    Thread& running() { return *running_; }
    std::byte* shared() { return shared_.data(); }
    void offer_value(const void* content, std::size_t bytes) {
        std::memcpy(offered_.data() + running_->number * max_value_bytes, content, bytes);
        running_->value_bytes = bytes;
    }
    const std::byte* value_of_lane(unsigned lane) const {
        return exchanged_.data() + (running_->number / warp_size * warp_size + lane) * max_value_bytes;
    }
    void wait(Waits waits, unsigned lanes) {
        Thread& own = *running_;
        own.waits = waits;
        own.lanes = lanes;
        own.fiber.pause();
    }

private:
    void begin_block(const Index& block);
    void turn(Thread& thread);
    bool release_threads();
    bool release_block();
    bool release_warps();
    void release(std::size_t number);
    [[noreturn]] void complain() const;

    std::vector<std::unique_ptr<Thread>> threads_;
    std::vector<std::size_t> order_;
    std::vector<std::byte> shared_;
    // A lane writes its value to offered_. When the wait of its warp ends, the value is copied to exchanged_.
    // Every released lane runs before another wait ends, so it reads the values before they are overwritten.
    std::vector<std::byte> offered_, exchanged_;
    Thread* running_ = nullptr;
    bool is_last_done_ = false;
};

thread_local Block* current = nullptr;
std::uint64_t order_seed = 0;

std::size_t count_threads(const Index& index) { return std::size_t{index.x} * index.y * index.z; }

// Returns the order of the threads, which differs between seeds; ascending for seed 0.
std::vector<std::size_t> make_thread_order(std::size_t threads) {
    std::vector<std::size_t> order(threads);
    std::iota(order.begin(), order.end(), 0);
    if (order_seed == 0) return order;
    const RandomKey key{order_seed};
    for (std::size_t i = threads; i > 1; --i) std::swap(order[i - 1], order[random_block(key, i)[0] % i]);
    return order;
}

Block::Block(const Index& blocks, const Index& threads, std::size_t shared_bytes,
             const std::function<void()>& body)
    : order_(make_thread_order(count_threads(threads))),
      shared_(shared_bytes),
      offered_(count_threads(threads) * max_value_bytes),
      exchanged_(count_threads(threads) * max_value_bytes) {
    const auto work = [this, &body] {
        while (!is_last_done_) {
            body();
            wait(Waits::for_next_block, 0);
        }
    };
    for (unsigned number = 0; number < count_threads(threads); ++number) {
        Thread& thread = *threads_.emplace_back(std::make_unique<Thread>(work));
        thread.number = number;
        thread.place.block_size = threads;
        thread.place.grid_size = blocks;
        thread.place.thread = {number % threads.x, number / threads.x % threads.y,
                               number / threads.x / threads.y};
    }
}

void Block::turn(Thread& thread) {
    running_ = &thread;
    thread.fiber.resume();
}

void Block::begin_block(const Index& block) {
    std::fill(shared_.begin(), shared_.end(), std::byte{0xFF});  // NaNs, to expose uninitialised reads
    for (const auto& thread : threads_) {
        thread->place.block = block;
        thread->waits = Waits::for_nothing;
    }
}

void Block::run_all() {
    const Index blocks = threads_.front()->place.grid_size;
    for (unsigned z = 0; z < blocks.z; ++z) {
        for (unsigned y = 0; y < blocks.y; ++y) {
            for (unsigned x = 0; x < blocks.x; ++x) {
                begin_block({x, y, z});
                do {
                    for (const std::size_t number : order_)
                        if (threads_[number]->waits == Waits::for_nothing) turn(*threads_[number]);
                } while (release_threads());
            }
        }
    }
    is_last_done_ = true;
    for (const auto& thread : threads_) turn(*thread);
}

// Releases threads whose wait is over. Returns false if all have ended.
bool Block::release_threads() {
    if (release_warps() || release_block()) return true;
    for (const auto& thread : threads_)
        if (thread->waits != Waits::for_next_block) complain();
    return false;
}

// Threads that have ended are not waited for.
bool Block::release_block() {
    bool is_any_waiting = false;
    for (const auto& thread : threads_) {
        is_any_waiting = is_any_waiting || thread->waits == Waits::for_block;
        if (thread->waits == Waits::for_warp) return false;
    }
    for (const auto& thread : threads_)
        if (thread->waits == Waits::for_block) thread->waits = Waits::for_nothing;
    return is_any_waiting;
}

bool Block::release_warps() {
    bool has_released = false;
    for (std::size_t first = 0; first < threads_.size(); first += warp_size) {
        for (unsigned lane = 0; lane < warp_size && first + lane < threads_.size(); ++lane) {
            const Thread& own = *threads_[first + lane];
            if (own.waits != Waits::for_warp) continue;
            const unsigned lanes = own.lanes;
            bool have_all_arrived = true;
            for (unsigned other = 0; other < warp_size; ++other) {
                if ((lanes >> other & 1U) == 0) continue;
                have_all_arrived = have_all_arrived && first + other < threads_.size() &&
                                   threads_[first + other]->waits == Waits::for_warp &&
                                   threads_[first + other]->lanes == lanes;
            }
            if (!have_all_arrived) continue;
            for (unsigned other = 0; other < warp_size; ++other)
                if ((lanes >> other & 1U) != 0) release(first + other);
            has_released = true;
        }
    }
    return has_released;
}

void Block::release(std::size_t number) {
    Thread& thread = *threads_[number];
    thread.waits = Waits::for_nothing;
    std::copy_n(offered_.begin() + static_cast<std::ptrdiff_t>(number * max_value_bytes), thread.value_bytes,
                exchanged_.begin() + static_cast<std::ptrdiff_t>(number * max_value_bytes));
}

void Block::complain() const {
    std::size_t for_block = 0;
    std::size_t for_warp = 0;
    for (const auto& thread : threads_) {
        for_block += thread->waits == Waits::for_block ? 1 : 0;
        for_warp += thread->waits == Waits::for_warp ? 1 : 0;
    }
    throw std::logic_error("of " + std::to_string(threads_.size()) + " threads of a block " +
                           std::to_string(for_block) + " wait for the block and " + std::to_string(for_warp) +
                           " for lanes that never arrive");
}

}  // namespace

void shuffle_threads(std::uint64_t seed) { order_seed = seed; }
bool are_threads_shuffled() { return order_seed != 0; }

const MemorySpace& place() { return current->running().place; }
unsigned lane() { return current->running().number % warp_size; }
void wait_for_block() { current->wait(Waits::for_block, 0); }
void wait_for_warp(unsigned lanes) { current->wait(Waits::for_warp, lanes); }
std::byte* shared_memory() { return current->shared(); }
void offer_value(const void* content, std::size_t bytes) { current->offer_value(content, bytes); }
const std::byte* value_of_lane(unsigned lane) { return current->value_of_lane(lane); }

void run_grid(const Index& blocks, const Index& threads, std::size_t shared_bytes,
              const std::function<void()>& thread) {
    Block block(blocks, threads, shared_bytes, thread);
    Block* const before = std::exchange(current, &block);
    block.run_all();
    current = before;
}

}  // namespace trireme::emulated
