#include "kernels/cuda/support/gpu_stream_state.hpp"

#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "kernels/cuda/matmul/matmul_library.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/gpu_times.hpp"
#include "trireme/kernels/gpu_stream.hpp"

namespace trireme::kernels {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t first_scratch_bytes = std::size_t{16} << 20;
constexpr std::size_t first_upload_bytes = std::size_t{1} << 20;  // initial size of each store

std::size_t align_up(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

}  // namespace

// Lists that were copied from the host to the GPU. There are two stores. Lists are appended to the current
// store until it is full. Then add() waits for the queue, forgets all lists, and continues at the beginning of
// the other store. The previous list therefore remains valid when the next one is added.
struct GpuStreamState::Uploads {
    struct Store {
        Store() : Store(first_upload_bytes) {}
        explicit Store(std::size_t bytes)
            : pinned(device::allocate_pinned_memory(bytes)), gpu(bytes, device::MemorySpace::gpu) {}
        ~Store() {
            if (pinned != nullptr) device::free_pinned_memory(pinned);
        }
        Store(const Store&) = delete;
        Store& operator=(const Store&) = delete;

        void grow(std::size_t size) {
            if (gpu.bytes() >= size) return;
            device::free_pinned_memory(std::exchange(pinned, nullptr));
            gpu = {};
            const std::size_t wanted = std::bit_ceil(size);
            pinned = device::allocate_pinned_memory(wanted);
            gpu = device::Buffer(wanted, device::MemorySpace::gpu);
        }

        std::byte* pinned;   // in host memory
        device::Buffer gpu;  // the copy of `pinned`
    };

    // Copies `bytes` to GPU memory, and returns the address of the copy.
    const std::byte* add(device::GpuQueue& queue, std::string bytes) {
        const std::size_t size = align_up(bytes.size());
        if (used + size > stores[current].gpu.bytes()) switch_store(queue, size);
        const Store& store = stores[current];
        std::byte* const address = store.gpu.data() + used;
        std::memcpy(store.pinned + used, bytes.data(), bytes.size());
        queue.copy(address, store.pinned + used, bytes.size());
        used += size;
        addresses.emplace(std::move(bytes), address);
        return address;
    }

    void switch_store(device::GpuQueue& queue, std::size_t size) {
        queue.wait();
        addresses.clear();
        used = 0;
        current = 1 - current;
        stores[current].grow(size);
    }

    std::array<Store, 2> stores = {};
    std::size_t current = 0;
    std::size_t used = 0;                                    // used bytes of the current store
    std::map<std::string, const std::byte*> addresses = {};  // content of a list -> its copy in GPU memory
};

GpuStreamState::GpuStreamState()
    : facts_(device::selected_gpu()),
      matmuls_(std::make_unique<MatmulLibrary>()),
      scratch_(first_scratch_bytes, device::MemorySpace::gpu),
      uploads_(std::make_unique<Uploads>()) {}

GpuStreamState::~GpuStreamState() = default;

std::size_t GpuStreamState::count_gpu_bytes() {
    return MatmulLibrary::count_gpu_bytes() + first_scratch_bytes + 2 * first_upload_bytes;
}

// Returns the last `bytes` of the buffer, so that a memory checker detects writes beyond them.
std::byte* GpuStreamState::get_scratch(std::size_t bytes) {
    const std::size_t size = align_up(bytes);
    if (size > scratch_.bytes()) {
        queue_.wait();
        scratch_ = {};
        scratch_ = device::Buffer(size, device::MemorySpace::gpu);
    }
    return scratch_.data() + scratch_.bytes() - size;
}

const std::byte* GpuStreamState::upload_bytes(std::span<const std::byte> bytes) {
    std::string content(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const auto cached = uploads_->addresses.find(content);
    return cached == uploads_->addresses.end() ? uploads_->add(queue_, std::move(content)) : cached->second;
}

device::Stream make_gpu_stream() {
    auto state = std::make_shared<GpuStreamState>();
    // The deleter keeps the state alive, because the GpuTimes refer to the queue of the state.
    auto times =
        std::shared_ptr<device::GpuTimes>(new device::GpuTimes(state->queue()),
                                          [state](const device::GpuTimes* owned_times) { delete owned_times; });
    return {.backend = device::CudaStream{std::move(state)}, .gpu_times = std::move(times)};
}

std::size_t count_gpu_stream_bytes() { return GpuStreamState::count_gpu_bytes(); }

}  // namespace trireme::kernels
