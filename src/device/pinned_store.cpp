#include "trireme/device/offload_store.hpp"

namespace trireme::device {
namespace {

class PinnedStore final : public OffloadStore {
public:
    PinnedStore(GpuQueue& compute_queue, std::size_t bytes)
        : compute_queue_(compute_queue),
          copy_queue_(GpuQueue::make_non_blocking()),
          memory_(allocate_pinned_memory(bytes)) {}
    ~PinnedStore() override { free_pinned_memory(memory_); }
    PinnedStore(const PinnedStore&) = delete;
    PinnedStore& operator=(const PinnedStore&) = delete;

    std::unique_ptr<Transfer> save(const std::byte* memory, std::size_t offset, std::size_t bytes) override {
        auto copy = std::make_unique<SaveCopy>(copy_queue_);
        start(memory_ + offset, memory, bytes, copy->end);
        return copy;
    }
    std::unique_ptr<Transfer> load(std::byte* memory, std::size_t offset, std::size_t bytes) override {
        auto copy = std::make_unique<LoadCopy>(compute_queue_);
        start(memory, memory_ + offset, bytes, copy->end);
        return copy;
    }

private:
    // Messages, too, are written to the memory that a save has freed, by queues that this class does not know.
    // So the calling thread waits for a save.
    struct SaveCopy final : Transfer {
        explicit SaveCopy(const GpuQueue& queue) : copy_queue(queue) {}
        void wait() override { copy_queue.wait_until_over(end); }

        const GpuQueue& copy_queue;
        GpuEvent end = {};
    };
    struct LoadCopy final : Transfer {
        explicit LoadCopy(GpuQueue& queue) : compute_queue(queue) {}
        void wait() override { compute_queue.wait_for(end); }

        GpuQueue& compute_queue;
        GpuEvent end = {};
    };

    // The copy begins after the kernels that have been launched so far.
    void start(void* to, const void* from, std::size_t bytes, GpuEvent& end) {
        compute_queue_.mark(kernels_end_);
        copy_queue_.wait_for(kernels_end_);
        copy_queue_.copy(to, from, bytes);
        copy_queue_.mark(end);
    }

    GpuQueue& compute_queue_;
    GpuQueue copy_queue_;
    GpuEvent kernels_end_;
    std::byte* memory_;
};

}  // namespace

std::unique_ptr<OffloadStore> make_pinned_store(GpuQueue& compute_queue, std::size_t bytes) {
    return std::make_unique<PinnedStore>(compute_queue, bytes);
}

}  // namespace trireme::device
