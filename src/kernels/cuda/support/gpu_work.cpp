#include "kernels/cuda/support/gpu_work.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "kernels/cuda/matmul/product_library.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme::kernels {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t first_scratch_bytes = std::size_t{16} << 20;
constexpr std::size_t first_told_bytes = std::size_t{1} << 20;  // initial size of each store

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

// Lists that were copied from the host to the GPU. They are stored one after another until the current store is
// full. Then this waits for the queue and continues at the beginning of the other of two stores. The previous
// list therefore remains valid when the next one is added.
struct GpuWork::Told {
    struct Store {
        Store() : Store(first_told_bytes) {}
        explicit Store(std::size_t bytes)
            : pinned(device::take_pinned_memory(bytes)), gpu(bytes, device::MemorySpace::gpu) {}
        ~Store() {
            if (pinned != nullptr) device::give_back_pinned_memory(pinned);
        }
        Store(const Store&) = delete;
        Store& operator=(const Store&) = delete;

        void grow(std::size_t size) {
            if (gpu.bytes() >= size) return;
            device::give_back_pinned_memory(std::exchange(pinned, nullptr));
            gpu = {};
            const std::size_t wanted = std::bit_ceil(size);
            pinned = device::take_pinned_memory(wanted);
            gpu = device::Buffer(wanted, device::MemorySpace::gpu);
        }

        std::byte* pinned;
        device::Buffer gpu;
    };

    const std::byte* add(device::GpuQueue& queue, std::string bytes) {
        const std::size_t size = aligned(bytes.size());
        if (used + size > stores[current].gpu.bytes()) turn_over(queue, size);
        const Store& store = stores[current];
        std::byte* const place = store.gpu.data() + used;
        std::memcpy(store.pinned + used, bytes.data(), bytes.size());
        queue.copy(place, store.pinned + used, bytes.size());
        used += size;
        places.emplace(std::move(bytes), place);
        return place;
    }

    void turn_over(device::GpuQueue& queue, std::size_t size) {
        queue.wait();
        places.clear();
        used = 0;
        current = 1 - current;
        stores[current].grow(size);
    }

    std::array<Store, 2> stores = {};
    std::size_t current = 0;
    std::size_t used = 0;  // bytes of the current store
    std::map<std::string, const std::byte*> places = {};
};

GpuWork::GpuWork()
    : facts_(device::gpu_in_use()),
      products_(std::make_unique<ProductLibrary>()),
      scratch_(first_scratch_bytes, device::MemorySpace::gpu),
      told_(std::make_unique<Told>()) {}

GpuWork::~GpuWork() = default;

std::size_t GpuWork::bytes() { return ProductLibrary::bytes() + first_scratch_bytes + 2 * first_told_bytes; }

// Returns the end of the buffer, so that a memory checker detects writes beyond it.
std::byte* GpuWork::scratch(std::size_t bytes) {
    const std::size_t size = aligned(bytes);
    if (size > scratch_.bytes()) {
        queue_.wait();
        scratch_ = {};
        scratch_ = device::Buffer(size, device::MemorySpace::gpu);
    }
    return scratch_.data() + scratch_.bytes() - size;
}

const std::byte* GpuWork::tell_bytes(std::span<const std::byte> bytes) {
    std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto known = told_->places.find(content);
    return known == told_->places.end() ? told_->add(queue_, std::move(content)) : known->second;
}

device::Stream gpu_stream() {
    auto work = std::make_shared<GpuWork>();
    // The deleter keeps the work alive, because the GpuTimes refer to its queue.
    auto times = std::shared_ptr<device::GpuTimes>(new device::GpuTimes(work->queue()),
                                                   [work](const device::GpuTimes* laps) { delete laps; });
    return {.backend = device::CudaStream{std::move(work)}, .gpu_times = std::move(times)};
}

std::size_t gpu_stream_bytes() { return GpuWork::bytes(); }

}  // namespace trireme::kernels
