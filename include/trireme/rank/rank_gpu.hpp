// Measures this rank's GPU during a run, and sets its clock.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/node_memory.hpp"
#include "trireme/comm/session.hpp"
#include "trireme/device/clock_setter.hpp"
#include "trireme/device/gpu_meter.hpp"
#include "trireme/device/stop_signals.hpp"
#include "trireme/rank/gpu_samples.hpp"

namespace trireme::setup {
struct GpuClocks;
struct Job;
}  // namespace trireme::setup

namespace trireme::rank {

// The GPUs of all ranks.
struct GpusOfRanks {
    int rank = 0;                           // this rank
    std::vector<int> nodes = {};            // per rank: lowest rank of its node, as in Session
    std::vector<std::string> bus_ids = {};  // per rank: PCI bus ID of its GPU, unique within the node
};

class RankGpu final : public device::ClockedDevice {
public:
    // `library` is the file name of NVML. Does not throw if the GPU cannot be measured: readings are then
    // empty, and require_meter() throws.
    explicit RankGpu(GpusOfRanks gpus, const std::string& library = device::GpuMeter::standard_library,
                     SamplePeriods periods = {});
    // Restores the clock if set_clock() has set it. During an exception, restores the clocks of all GPUs of the
    // node, because other ranks may be killed before they restore their clocks.
    ~RankGpu() override;
    RankGpu(const RankGpu&) = delete;
    RankGpu& operator=(const RankGpu&) = delete;

    // Returns the last reading of the energy counter, at most about one period old. Each of several ranks that
    // share a GPU gets an equal fraction, so that the sum over ranks counts the GPU once.
    std::optional<double> read_joules() const override;
    // Collective over `control`, which has all ranks: measures the watts that the GPU draws while the ranks
    // wait.
    void measure_waiting_watts(comm::Communicator& control);
    double waiting_watts() const { return waiting_watts_; }  // 0 before measure_waiting_watts()
    // Returns the state of the whole GPU, even if ranks share it.
    device::GpuReading state() const;

    // Returns one value per rank of the job: the number of ranks that use the GPU of that rank, that rank
    // included.
    const std::vector<int>& sharer_counts() const { return sharer_counts_; }
    // Returns the version of the driver; empty if unknown.
    std::string driver() const { return meter_ ? meter_->find_driver_version() : ""; }

    // Returns the meter that sets the clock. Throws ConfigError if there is none; `setter`, for example
    // "--gpu-clock 1200", requests the clock.
    const device::GpuMeter& require_meter(const std::string& setter) const;
    bool has_meter() const { return meter_ != nullptr; }
    const std::string& no_meter_reason() const { return no_meter_reason_; }

    // The clocks of the whole GPU. There must be a meter. If several ranks share the GPU, only the lowest of
    // them sets the clock.
    std::vector<device::ClockState> list_clocks() const override { return meter_->list_clocks(); }
    void set_clock(int mhz) override;
    bool restore_clock() noexcept override;

    // Collective over the ranks of the node. Makes the setter of the clocks of programs, which leaves at least
    // `min_seconds` between two changes. Called after set_clock(); no other rank may share the GPU.
    void make_clock_setter(const comm::Session& session, double min_seconds);
    const std::shared_ptr<device::ClockSetter>& clock_setter() const { return clock_setter_; }  // may be null
    // Must be called after all ranks have set their clocks. Arranges that the clocks of all GPUs of the node
    // are restored as soon as the first of `signals` arrives, because this rank may then be killed soon.
    // `signals` may be null; otherwise it must outlive this object.
    void restore_clocks_on(device::StopSignals* signals);

private:
    bool is_first_sharer() const;
    void open_neighbour_meters();
    void share_gate(const comm::Session& session);
    void restore_node_clocks() noexcept;

    GpusOfRanks gpus_;
    std::string library_;
    std::shared_ptr<device::GpuMeter> meter_;  // null if the GPU cannot be measured
    std::optional<GpuSamples> samples_;        // readings of meter_; empty without a meter
    std::string no_meter_reason_;              // why meter_ is null
    std::vector<int> sharer_counts_;
    // Meters of the node's other GPUs; empty until restore_clocks_on().
    std::vector<device::GpuMeter> neighbour_meters_ = {};
    std::unique_ptr<comm::NodeMemory> gate_memory_;  // null until make_clock_setter()
    std::optional<device::ClockGate> gate_;          // shared by the ranks of the node
    std::shared_ptr<device::ClockSetter> clock_setter_;
    double waiting_watts_ = 0;
    bool is_clock_set_ = false;  // the clock of this rank's GPU is set
    std::optional<device::SignalCallback> signal_callback_;
};

// Collective over `control`, which has all ranks. Returns null if the run uses no GPU. Throws ConfigError on
// all ranks if the run uses none, but --gpu-clock is set.
std::shared_ptr<RankGpu> make_rank_gpu(const setup::Job& job, const comm::Session& session,
                                       comm::Communicator& control);

// Collective over `control`, which has all ranks. Returns Job::gpu_clocks.
std::vector<setup::GpuClocks> gather_gpu_clocks(const setup::Job& job, comm::Communicator& control);

// Collective over `control`, which has all ranks. Sets the clock that --gpu-clock requests, or prepares the GPU
// for clocks that change during steps. `setter` says for messages what sets these clocks; it is empty if
// nothing does. A dry run sets no clock. Throws ConfigError on all ranks if the clocks cannot be set. For
// `signals`, see restore_clocks_on().
void prepare_gpu_clocks(const setup::Job& job, const std::string& setter, const comm::Session& session,
                        comm::Communicator& control, device::StopSignals* signals);

// Returns the device of a rank, whose energy is measured: its GPU or its simulated device; null on a CPU.
std::shared_ptr<device::ClockedDevice> find_clocked_device(const setup::Job& job);
// Returns the setter of this device's clock; null if programs set no clocks on it.
std::shared_ptr<device::ClockSetter> make_clock_setter(const setup::Job& job);

}  // namespace trireme::rank
