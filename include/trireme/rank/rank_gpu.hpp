// This rank's GPU while a run lasts: what measures it, and the clock that it is held at.
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

// Where all ranks' GPUs are.
struct GpusOfRanks {
    int rank = 0;                           // this one
    std::vector<int> nodes = {};            // of each rank, as Session has them
    std::vector<std::string> bus_ids = {};  // of each rank's GPU, in its node
};

class RankGpu {
public:
    explicit RankGpu(GpusOfRanks gpus, const std::string& library = device::GpuMeter::standard_library,
                     SamplePeriods periods = {});
    // Gives back the clock that it holds; while an exception is under way, those of the whole node: other ranks
    // may be killed before they can.
    ~RankGpu();
    RankGpu(const RankGpu&) = delete;
    RankGpu& operator=(const RankGpu&) = delete;

    // Since some moment in the past; none: nothing measures it. Of ranks that share a GPU each has an equal
    // part, as nobody knows who of them drew what: their sum is what the GPU consumed, counted once.
    std::optional<double> joules() const;
    // Of the whole GPU, whoever shares it.
    device::GpuReading state() const;

    // Of each rank's GPU: how many ranks it has.
    const std::vector<int>& sharers() const { return sharers_; }
    std::string driver() const { return meter_ ? meter_->driver() : ""; }

    // Throws ConfigError where the clock cannot be set, and ResourceError where the GPU fails. Of ranks that
    // share a GPU the first one sets it.
    void check_clock(int mhz) const;
    void hold_clock(int mhz);
    // Once all ranks hold theirs: at the first of `signals`, which outlive it, those of the node are given back
    // at once, as what kills this rank may come soon. None: nobody sends any.
    void let_go_at(device::StopSignals* signals);

private:
    const device::GpuMeter& meter_of_clock(int mhz) const;
    bool is_first() const;
    void open_neighbours();
    void give_back_node() const noexcept;

    GpusOfRanks gpus_;
    std::string library_;
    std::optional<device::GpuMeter> meter_;
    std::optional<GpuSamples> samples_;  // of the meter
    std::string complaint_;              // why there is none
    std::vector<int> sharers_;
    std::vector<device::GpuMeter> neighbours_ =
        {};  // those of the node's other GPUs, where their clocks are held
    bool holds_ = false;
    std::optional<device::SignalCall> at_signal_;
};

// Collective over `control`. None of a run that uses no GPU. Throws ConfigError, on all ranks, where
// --gpu-clock cannot be.
std::shared_ptr<RankGpu> gpu_of_run(const setup::Job& job, const comm::Session& session,
                                    comm::Communicator& control, device::StopSignals* signals);

}  // namespace trireme::rank
