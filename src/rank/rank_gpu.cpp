#include "trireme/rank/rank_gpu.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::rank {
namespace {

using GpuId = std::pair<int, std::string>;  // node, and bus ID within the node

GpuId make_gpu_id(const GpusOfRanks& gpus, std::size_t rank) { return {gpus.nodes[rank], gpus.bus_ids[rank]}; }

std::vector<int> count_sharers(const GpusOfRanks& gpus) {
    std::map<GpuId, int> counts;
    for (std::size_t rank = 0; rank < gpus.bus_ids.size(); ++rank) counts[make_gpu_id(gpus, rank)] += 1;
    std::vector<int> sharer_counts;
    for (std::size_t rank = 0; rank < gpus.bus_ids.size(); ++rank)
        sharer_counts.push_back(counts.at(make_gpu_id(gpus, rank)));
    return sharer_counts;
}

}  // namespace

RankGpu::RankGpu(GpusOfRanks gpus, const std::string& library, SamplePeriods periods)
    : gpus_(std::move(gpus)), library_(library), sharer_counts_(count_sharers(gpus_)) {
    device::GpuMeterSearch search =
        device::find_gpu_meter(gpus_.bus_ids[static_cast<std::size_t>(gpus_.rank)], library);
    no_meter_reason_ = std::move(search.complaint);
    if (!search.meter) return;
    meter_ = std::make_shared<device::GpuMeter>(std::move(*search.meter));
    samples_.emplace(*meter_, periods);
}

RankGpu::~RankGpu() {
    signal_callback_.reset();
    if (!is_clock_set_) return;
    if (std::uncaught_exceptions() > 0)
        restore_node_clocks();
    else
        restore_clock();
}

std::optional<double> RankGpu::read_joules() const {
    const std::optional<double> joules = samples_ ? samples_->joules() : std::nullopt;
    if (!joules) return std::nullopt;
    return *joules / sharer_counts_[static_cast<std::size_t>(gpus_.rank)];
}

device::GpuReading RankGpu::state() const { return samples_ ? samples_->state() : device::GpuReading{}; }

bool RankGpu::is_first_sharer() const {
    const auto own_rank = static_cast<std::size_t>(gpus_.rank);
    for (std::size_t rank = 0; rank < own_rank; ++rank)
        if (make_gpu_id(gpus_, rank) == make_gpu_id(gpus_, own_rank)) return false;
    return true;
}

const device::GpuMeter& RankGpu::require_meter(const std::string& setter) const {
    if (meter_) return *meter_;
    throw ConfigError(cat(setter, " cannot be set on rank ", gpus_.rank, ": ", no_meter_reason_));
}

void RankGpu::set_clock(int mhz) {
    if (is_first_sharer()) meter_->set_clock(mhz);
    is_clock_set_ = true;
}

bool RankGpu::restore_clock() noexcept { return !is_first_sharer() || meter_->restore_clock(); }

// Skips GPUs that cannot be opened. The ranks that use these GPUs unlock the clocks themselves, unless these
// ranks are killed.
void RankGpu::open_neighbour_meters() {
    const auto own_rank = static_cast<std::size_t>(gpus_.rank);
    std::set<std::string> opened_bus_ids{gpus_.bus_ids[own_rank]};
    for (std::size_t rank = 0; rank < gpus_.bus_ids.size(); ++rank) {
        if (gpus_.nodes[rank] != gpus_.nodes[own_rank] || !opened_bus_ids.insert(gpus_.bus_ids[rank]).second)
            continue;
        device::GpuMeterSearch search = device::find_gpu_meter(gpus_.bus_ids[rank], library_);
        if (search.meter) neighbour_meters_.push_back(std::move(*search.meter));
    }
}

void RankGpu::restore_clocks_on(device::StopSignals* signals) {
    open_neighbour_meters();
    if (signals != nullptr) signal_callback_.emplace(*signals, [this] { restore_node_clocks(); });
}

void RankGpu::restore_node_clocks() noexcept {
    meter_->restore_clock();
    for (device::GpuMeter& neighbour : neighbour_meters_) neighbour.restore_clock();
}

std::shared_ptr<RankGpu> make_rank_gpu(const setup::Job& job, const comm::Session& session,
                                       comm::Communicator& control, device::StopSignals* signals) {
    const int mhz = job.config.run.gpu_clock;
    if (job.memory_space != device::MemorySpace::gpu) {
        if (mhz == 0) return nullptr;
        throw ConfigError(
            cat("--gpu-clock ", mhz,
                " applies to GPUs, but this run uses none; remove --gpu-clock, or use another --device"));
    }
    auto gpu =
        std::make_shared<RankGpu>(GpusOfRanks{.rank = session.rank(),
                                              .nodes = session.nodes(),
                                              .bus_ids = all_gather(control, device::selected_gpu().bus_id)});
    if (mhz == 0) return gpu;
    // No rank sets its clock before all ranks have passed the check.
    run_or_fail_together(control, [&] { gpu->require_meter(cat("--gpu-clock ", mhz)).check_clock(mhz); });
    if (job.config.run.dry_run) return gpu;
    run_or_fail_together(control, [&] {
        try {
            gpu->set_clock(mhz);
        } catch (const ConfigError& error) {
            throw ConfigError(cat("--gpu-clock ", mhz, ": ", error.what()));
        }
    });
    gpu->restore_clocks_on(signals);
    return gpu;
}

std::shared_ptr<device::ClockedDevice> find_clocked_device(const setup::Job& job) {
    return job.gpu ? job.gpu : device::make_simulated_device();
}

std::shared_ptr<device::ClockSetter> make_clock_setter(const setup::Job& job) {
    if (job.gpu) return nullptr;
    const std::shared_ptr<device::ClockedDevice> device = device::make_simulated_device();
    return device ? std::make_shared<device::ClockSetter>(device) : nullptr;
}

}  // namespace trireme::rank
