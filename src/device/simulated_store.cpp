#include <algorithm>
#include <cstring>
#include <vector>

#include "trireme/device/clock.hpp"
#include "trireme/device/offload_store.hpp"

namespace trireme::device {
namespace {

class SimulatedStore final : public OffloadStore {
public:
    SimulatedStore(MemorySpace memory_space, std::size_t bytes, double latency, double bandwidth)
        : memory_(memory_space == MemorySpace::ghost ? 0 : bytes), latency_(latency), bandwidth_(bandwidth) {}

    std::unique_ptr<Transfer> save(const std::byte* memory, std::size_t offset, std::size_t bytes) override {
        if (!memory_.empty()) std::memcpy(memory_.data() + offset, memory, bytes);
        return start(bytes);
    }
    std::unique_ptr<Transfer> load(std::byte* memory, std::size_t offset, std::size_t bytes) override {
        if (!memory_.empty()) std::memcpy(memory, memory_.data() + offset, bytes);
        return start(bytes);
    }

private:
    struct Copy final : Transfer {
        explicit Copy(double end_seconds) : end(end_seconds) {}
        void wait() override {
            const double seconds = end - now_seconds();
            if (seconds > 0) idle_for(seconds);
        }

        double end;
    };

    std::unique_ptr<Transfer> start(std::size_t bytes) {
        end_ = std::max(end_, now_seconds()) + latency_ + static_cast<double>(bytes) / bandwidth_;
        return std::make_unique<Copy>(end_);
    }

    std::vector<std::byte> memory_;  // empty for a ghost, which has no values
    double latency_;                 // seconds
    double bandwidth_;               // bytes per second
    double end_ = 0;                 // of the last copy
};

}  // namespace

std::unique_ptr<OffloadStore> make_simulated_store(MemorySpace memory_space, std::size_t bytes, double latency,
                                                   double bandwidth) {
    return std::make_unique<SimulatedStore>(memory_space, bytes, latency, bandwidth);
}

}  // namespace trireme::device
