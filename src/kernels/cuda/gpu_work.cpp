#include "kernels/cuda/gpu_work.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <string>

#include "kernels/cuda/product_library.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme {
namespace {

constexpr std::size_t alignment = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

// One behind the other until there is no room; then in the other of two stores, from its beginning, once nobody
// reads that any more: a kernel that is told several lists finds the first one where it was.
struct GpuWork::Told {
    struct Store {
        Store() = default;
        ~Store() { give_back(); }
        Store(const Store&) = delete;
        Store& operator=(const Store&) = delete;

        void give_back() {
            if (capacity == 0) return;
            give_back_pinned_memory(pinned);
            give_back_gpu_memory(gpu);
            capacity = 0;
        }

        // Room for more than there was, until that is enough.
        void grow(std::size_t before, std::size_t size) {
            constexpr std::size_t enough = std::size_t{16} << 20;
            const std::size_t doubled = std::min(2 * before, enough);
            const std::size_t wanted = std::bit_ceil(std::max({doubled, size, std::size_t{1} << 16}));
            if (capacity >= wanted) return;
            give_back();
            pinned = take_pinned_memory(wanted);
            gpu = take_gpu_memory(wanted);
            capacity = wanted;
        }

        std::byte* pinned = nullptr;
        std::byte* gpu = nullptr;
        std::size_t capacity = 0;
    };

    const std::byte* add(GpuQueue& queue, std::string bytes) {
        const std::size_t size = aligned(bytes.size());
        if (used + size > stores[current].capacity) turn_over(queue, size);
        const Store& store = stores[current];
        std::byte* const place = store.gpu + used;
        std::memcpy(store.pinned + used, bytes.data(), bytes.size());
        queue.copy(place, store.pinned + used, bytes.size());
        used += size;
        places.emplace(std::move(bytes), place);
        return place;
    }

    void turn_over(GpuQueue& queue, std::size_t size) {
        queue.wait();
        places.clear();
        used = 0;
        const std::size_t before = stores[current].capacity;
        current = 1 - current;
        stores[current].grow(before, size);
    }

    std::array<Store, 2> stores = {};
    std::size_t current = 0;
    std::size_t used = 0;  // of the current one
    std::map<std::string, const std::byte*> places = {};
};

GpuWork::GpuWork() : facts_(gpu_in_use()), products_(std::make_unique<ProductLibrary>()) {}

GpuWork::~GpuWork() {
    if (scratch_ != nullptr) give_back_gpu_memory(scratch_);
}

std::byte* GpuWork::scratch(std::size_t bytes) {
    if (bytes <= scratch_bytes_) return scratch_;
    queue_.wait();
    if (scratch_ != nullptr) give_back_gpu_memory(scratch_);
    scratch_ = nullptr;
    scratch_bytes_ = 0;
    scratch_ = take_gpu_memory(bytes);
    scratch_bytes_ = bytes;
    return scratch_;
}

const std::byte* GpuWork::tell_bytes(std::span<const std::byte> bytes) {
    if (!told_) told_ = std::make_unique<Told>();
    std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto known = told_->places.find(content);
    return known == told_->places.end() ? told_->add(queue_, std::move(content)) : known->second;
}

Stream gpu_stream() {
    auto work = std::make_shared<GpuWork>();
    // Laps are marks in the work's queue, which is there as long as they are.
    auto times =
        std::shared_ptr<GpuTimes>(new GpuTimes(work->queue()), [work](const GpuTimes* laps) { delete laps; });
    return {.backend = CudaStream{std::move(work)}, .gpu_times = std::move(times)};
}

}  // namespace trireme
