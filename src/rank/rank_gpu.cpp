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

using GpuPlace = std::pair<int, std::string>;

GpuPlace gpu_of(const GpusOfRanks& gpus, std::size_t rank) { return {gpus.nodes[rank], gpus.bus_ids[rank]}; }

std::vector<int> sharers_of(const GpusOfRanks& gpus) {
    std::map<GpuPlace, int> counts;
    for (std::size_t rank = 0; rank < gpus.bus_ids.size(); ++rank) counts[gpu_of(gpus, rank)] += 1;
    std::vector<int> sharers;
    for (std::size_t rank = 0; rank < gpus.bus_ids.size(); ++rank)
        sharers.push_back(counts.at(gpu_of(gpus, rank)));
    return sharers;
}

}  // namespace

RankGpu::RankGpu(GpusOfRanks gpus, const std::string& library, SamplePeriods periods)
    : gpus_(std::move(gpus)), library_(library), sharers_(sharers_of(gpus_)) {
    device::GpuMeterSearch search =
        device::find_gpu_meter(gpus_.bus_ids[static_cast<std::size_t>(gpus_.rank)], library);
    meter_ = std::move(search.meter);
    if (meter_) samples_.emplace(*meter_, periods);
    complaint_ = std::move(search.complaint);
}

RankGpu::~RankGpu() {
    at_signal_.reset();
    if (!holds_) return;
    if (std::uncaught_exceptions() > 0) give_back_node();
    if (is_first()) meter_->give_clock_back();
}

std::optional<double> RankGpu::joules() const {
    const std::optional<double> joules = samples_ ? samples_->joules() : std::nullopt;
    if (!joules) return std::nullopt;
    return *joules / sharers_[static_cast<std::size_t>(gpus_.rank)];
}

device::GpuReading RankGpu::state() const { return samples_ ? samples_->state() : device::GpuReading{}; }

bool RankGpu::is_first() const {
    const auto own = static_cast<std::size_t>(gpus_.rank);
    for (std::size_t rank = 0; rank < own; ++rank)
        if (gpu_of(gpus_, rank) == gpu_of(gpus_, own)) return false;
    return true;
}

const device::GpuMeter& RankGpu::meter_of_clock(int mhz) const {
    if (meter_) return *meter_;
    throw ConfigError(cat("--gpu-clock ", mhz, " cannot be set on rank ", gpus_.rank, ": ", complaint_));
}

void RankGpu::check_clock(int mhz) const { meter_of_clock(mhz).check_clock(mhz); }

void RankGpu::hold_clock(int mhz) {
    const device::GpuMeter& meter = meter_of_clock(mhz);
    if (is_first()) meter.hold_clock(mhz);
    holds_ = true;
}

// Skips GPUs that cannot be opened: their own ranks unlock their clocks, unless they are killed.
void RankGpu::open_neighbours() {
    const auto own = static_cast<std::size_t>(gpus_.rank);
    std::set<std::string> known{gpus_.bus_ids[own]};
    for (std::size_t rank = 0; rank < gpus_.bus_ids.size(); ++rank) {
        if (gpus_.nodes[rank] != gpus_.nodes[own] || !known.insert(gpus_.bus_ids[rank]).second) continue;
        device::GpuMeterSearch search = device::find_gpu_meter(gpus_.bus_ids[rank], library_);
        if (search.meter) neighbours_.push_back(std::move(*search.meter));
    }
}

void RankGpu::let_go_at(device::StopSignals* signals) {
    open_neighbours();
    if (signals != nullptr) at_signal_.emplace(*signals, [this] { give_back_node(); });
}

void RankGpu::give_back_node() const noexcept {
    meter_->give_clock_back();
    for (const device::GpuMeter& neighbour : neighbours_) neighbour.give_clock_back();
}

std::shared_ptr<RankGpu> gpu_of_run(const setup::Job& job, const comm::Session& session,
                                    comm::Communicator& control, device::StopSignals* signals) {
    const int mhz = job.config.run.gpu_clock;
    if (job.place != device::MemorySpace::gpu) {
        if (mhz == 0) return nullptr;
        throw ConfigError(
            cat("--gpu-clock ", mhz,
                " applies to GPUs, and this run uses none; remove it, or choose another --device"));
    }
    auto gpu =
        std::make_shared<RankGpu>(GpusOfRanks{.rank = session.rank(),
                                              .nodes = session.nodes(),
                                              .bus_ids = gather_all(control, device::gpu_in_use().bus_id)});
    if (mhz == 0) return gpu;
    agree(control, [&] { gpu->check_clock(mhz); });  // checks all clocks before any is locked
    if (job.config.run.dry_run) return gpu;
    agree(control, [&] { gpu->hold_clock(mhz); });
    gpu->let_go_at(signals);
    return gpu;
}

}  // namespace trireme::rank
