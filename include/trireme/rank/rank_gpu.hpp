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
    std::vector<int> nodes = {};            // node per rank, as in Session
    std::vector<std::string> bus_ids = {};  // per rank, bus ID of its GPU in the node
};

class RankGpu {
public:
    explicit RankGpu(GpusOfRanks gpus, const std::string& library = device::GpuMeter::standard_library,
                     SamplePeriods periods = {});
    // Unlocks the clock if it is locked. During an exception, unlocks the clocks of all GPUs of the node,
    // because other ranks may be killed before they can do so.
    ~RankGpu();
    RankGpu(const RankGpu&) = delete;
    RankGpu& operator=(const RankGpu&) = delete;

    // Returns the consumed energy since an arbitrary moment; empty if it is not measured. Ranks that share a
    // GPU each get an equal fraction, so that their sum counts the GPU once.
    std::optional<double> joules() const;
    // Returns the state of the whole GPU, even if ranks share it.
    device::GpuReading state() const;

    // Number of ranks that use the GPU of each rank.
    const std::vector<int>& sharers() const { return sharers_; }
    std::string driver() const { return meter_ ? meter_->driver() : ""; }

    // Throws ConfigError if the clock cannot be locked, and ResourceError if the GPU fails.
    void check_clock(int mhz) const;
    // Locks the clock; of several ranks that share a GPU, only the first does so. Throws as check_clock() does.
    void hold_clock(int mhz);
    // Called once all ranks have locked their clocks. On the first of `signals`, the clocks of all GPUs of the
    // node are unlocked at once, because this rank may be killed soon. `signals` may be null, and must outlive
    // this object.
    void let_go_at(device::StopSignals* signals);

private:
    const device::GpuMeter& meter_of_clock(int mhz) const;
    bool is_first() const;
    void open_neighbours();
    void give_back_node() const noexcept;

    GpusOfRanks gpus_;
    std::string library_;
    std::optional<device::GpuMeter> meter_;
    std::optional<GpuSamples> samples_;  // samples of the meter
    std::string complaint_;              // why there is no meter
    std::vector<int> sharers_;
    std::vector<device::GpuMeter> neighbours_ = {};  // meters of the node's other GPUs, if clocks are locked
    bool holds_ = false;                             // the clock of this rank's GPU is locked
    std::optional<device::SignalCall> at_signal_;
};

// Collective over `control`. Makes the object and locks the clock as --gpu-clock says. Returns null if the run
// uses no GPU. Throws ConfigError on all ranks if --gpu-clock is impossible.
std::shared_ptr<RankGpu> gpu_of_run(const setup::Job& job, const comm::Session& session,
                                    comm::Communicator& control, device::StopSignals* signals);

}  // namespace trireme::rank
