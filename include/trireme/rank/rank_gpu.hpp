// Measures this rank's GPU during a run, and locks its clock (--gpu-clock).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/device/gpu_meter.hpp"
#include "trireme/device/stop_signals.hpp"
#include "trireme/rank/gpu_samples.hpp"

namespace trireme::config {
struct RunConfig;
}

namespace trireme::setup {
struct Job;
}

namespace trireme::rank {

// The GPUs of all ranks.
struct GpusOfRanks {
    int rank = 0;                           // this rank
    std::vector<int> nodes = {};            // per rank: lowest rank of its node, as in Session
    std::vector<std::string> bus_ids = {};  // per rank: PCI bus ID of its GPU, unique within the node
};

class RankGpu {
public:
    // `library` is the file name of NVML. Does not throw if the GPU cannot be measured: readings are then
    // empty, and check_clock() throws.
    explicit RankGpu(GpusOfRanks gpus, const std::string& library = device::GpuMeter::standard_library,
                     SamplePeriods periods = {});
    // Unlocks the clock if lock_clock() has locked it. During an exception, unlocks the clocks of all GPUs of
    // the node, because other ranks may be killed before they unlock their clocks.
    ~RankGpu();
    RankGpu(const RankGpu&) = delete;
    RankGpu& operator=(const RankGpu&) = delete;

    // Returns the energy in joules that the GPU has consumed since an arbitrary moment; empty if the energy is
    // not measured. Each of several ranks that share a GPU gets an equal fraction, so that the sum over ranks
    // counts the GPU once.
    std::optional<double> joules() const;
    // Returns the state of the whole GPU, even if ranks share it.
    device::GpuReading state() const;

    // Returns one value per rank of the job: the number of ranks that use the GPU of that rank, that rank
    // included.
    const std::vector<int>& sharer_counts() const { return sharer_counts_; }
    // Returns the version of the driver; empty if unknown.
    std::string driver() const { return meter_ ? meter_->find_driver_version() : ""; }

    // Throws ConfigError if the clock cannot be locked at `mhz`, and ResourceError if the GPU fails.
    void check_clock(int mhz) const;
    // Locks the clock at `mhz`. If several ranks share a GPU, only the lowest of these ranks locks the GPU's
    // clock. Throws the exceptions of check_clock(), and ConfigError if the user may not lock clocks.
    void lock_clock(int mhz);
    // Must be called after all ranks have locked their clocks. Arranges that the clocks of all GPUs of the node
    // are unlocked as soon as the first of `signals` arrives, because this rank may then be killed soon.
    // `signals` may be null; otherwise it must outlive this object.
    void unlock_clocks_on(device::StopSignals* signals);

private:
    const device::GpuMeter& require_clock_meter(int mhz) const;
    bool is_first_sharer() const;
    void open_neighbour_meters();
    void unlock_node_clocks() const noexcept;

    GpusOfRanks gpus_;
    std::string library_;
    std::optional<device::GpuMeter> meter_;
    std::optional<GpuSamples> samples_;  // readings of meter_; empty without a meter
    std::string no_meter_reason_;        // why meter_ is empty
    std::vector<int> sharer_counts_;
    // Meters of the node's other GPUs; empty until unlock_clocks_on().
    std::vector<device::GpuMeter> neighbour_meters_ = {};
    bool is_clock_locked_ = false;  // the clock of this rank's GPU is locked
    std::optional<device::SignalCallback> signal_callback_;
};

// Collective over `control`, which has all ranks. Makes a RankGpu and locks the clock as --gpu-clock requests.
// A dry run only checks the clock. Returns null if the run uses no GPU. Throws ConfigError on all ranks if
// --gpu-clock is impossible. For `signals`, see unlock_clocks_on().
std::shared_ptr<RankGpu> make_rank_gpu(const setup::Job& job, const comm::Session& session,
                                       comm::Communicator& control, device::StopSignals* signals);

}  // namespace trireme::rank
