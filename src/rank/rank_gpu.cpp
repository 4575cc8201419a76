#include "trireme/rank/rank_gpu.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/comm/agreement.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
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

std::vector<plan::DeviceClock> parse_clocks(const std::string& text) {
    std::istringstream words(text);
    std::vector<plan::DeviceClock> clocks;
    for (double mhz = 0; words >> mhz;) {
        const double highest_mhz = clocks.empty() ? mhz : clocks.front().mhz;
        clocks.push_back({.mhz = mhz, .speed = mhz / highest_mhz});
    }
    return clocks;
}

// Throws ConfigError if clocks cannot be set during steps, apart from permissions. `setter` sets them.
void check_planned_clocks(const RankGpu& gpu, const std::string& setter, const config::RunConfig& config) {
    const int fixed_mhz = config.run.gpu_clock;
    if (config.policy.clock_every >= config.run.stall_timeout)
        throw ConfigError(cat("--clock-every ", config.policy.clock_every, " is not below --stall-timeout ",
                              config.run.stall_timeout,
                              ", so that a rank that waits for its clock would stall; "
                              "lower --clock-every"));
    if (fixed_mhz > 0)
        throw ConfigError(cat("--gpu-clock ", fixed_mhz, " holds one clock, but ", setter,
                              " sets clocks during a step; remove one of them"));
    const std::vector<int>& sharers = gpu.sharer_counts();
    const auto shared = std::ranges::find_if(sharers, [](int count) { return count > 1; });
    if (shared == sharers.end()) return;
    throw ConfigError(cat(setter, " sets clocks, but ", *shared, " ranks share the GPU of rank ",
                          shared - sharers.begin(), "; start fewer ranks per node, or set no clocks"));
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
    if (std::uncaught_exceptions() > 0) restore_node_clocks();  // and no clock is set afterwards
    clock_setter_.reset();  // before the clock is restored, because a clock that is set later would stay
    if (std::uncaught_exceptions() == 0) restore_clock();
}

std::optional<double> RankGpu::read_joules() const {
    const std::optional<double> joules = samples_ ? samples_->joules() : std::nullopt;
    if (!joules) return std::nullopt;
    return *joules / sharer_counts_[static_cast<std::size_t>(gpus_.rank)];
}

// The counter advances every 20 to 100 ms.
void RankGpu::measure_waiting_watts(comm::Communicator& control) {
    constexpr double seconds = 2;
    const std::vector<double> joules = all_gather(control, std::array{read_joules().value_or(-1)});
    if (std::ranges::all_of(joules, [](double value) { return value < 0; })) return;
    const double begin = device::now_seconds();
    const double joules_before = read_joules().value_or(0);
    device::idle_for(seconds);
    barrier(control);
    waiting_watts_ = (read_joules().value_or(0) - joules_before) / (device::now_seconds() - begin);
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

void RankGpu::share_gate(const comm::Session& session) {
    gate_memory_ = session.make_node_memory({});
    const std::size_t slots =
        device::ClockGate::count_slots(static_cast<std::size_t>(gate_memory_->group().size()));
    gate_memory_->allocate(slots * sizeof(int));
    const std::span<int> memory(reinterpret_cast<int*>(gate_memory_->data()), slots);
    gate_.emplace(memory, static_cast<std::size_t>(gate_memory_->group().rank()));
}

void RankGpu::restore_clocks_on(device::StopSignals* signals) {
    open_neighbour_meters();
    if (signals != nullptr) signal_callback_.emplace(*signals, [this] { restore_node_clocks(); });
}

void RankGpu::make_clock_setter(const comm::Session& session, double min_seconds) {
    share_gate(session);
    clock_setter_ = std::make_shared<device::ClockSetter>(meter_, min_seconds, gate_);
}

void RankGpu::restore_node_clocks() noexcept {
    if (gate_) gate_->close();
    meter_->restore_clock();
    for (device::GpuMeter& neighbour : neighbour_meters_) neighbour.restore_clock();
}

std::shared_ptr<RankGpu> make_rank_gpu(const setup::Job& job, const comm::Session& session,
                                       comm::Communicator& control) {
    const int mhz = job.config.run.gpu_clock;
    if (job.memory_space == device::MemorySpace::gpu)
        return std::make_shared<RankGpu>(
            GpusOfRanks{.rank = session.rank(),
                        .nodes = session.nodes(),
                        .bus_ids = all_gather(control, device::selected_gpu().bus_id)});
    if (mhz == 0) return nullptr;
    throw ConfigError(
        cat("--gpu-clock ", mhz,
            " applies to GPUs, but this run uses none; remove --gpu-clock, or use another --device"));
}

std::vector<setup::GpuClocks> gather_gpu_clocks(const setup::Job& job, comm::Communicator& control) {
    if (!job.gpu) return {};
    std::string own_clocks;  // in MHz, separated by spaces
    if (job.gpu->has_meter())
        for (const device::ClockState& clock : job.gpu->list_clocks()) own_clocks += cat(clock.mhz, ' ');
    const std::vector<std::string> clocks = all_gather(control, own_clocks);
    const std::vector<std::string> reasons = all_gather(
        control, job.gpu->has_meter() ? "the driver does not list them" : job.gpu->no_meter_reason());
    const std::vector<std::string> devices = all_gather(control, device::selected_gpu().name);
    const std::vector<std::string> joules =
        all_gather(control, job.gpu->has_meter() && job.gpu->read_joules() ? "reported" : "");
    std::vector<setup::GpuClocks> gathered;
    for (std::size_t rank = 0; rank < clocks.size(); ++rank)
        gathered.push_back({.device = devices[rank],
                            .reports_joules = !joules[rank].empty(),
                            .clocks = parse_clocks(clocks[rank]),
                            .unknown_because = clocks[rank].empty() ? reasons[rank] : ""});
    return gathered;
}

void prepare_gpu_clocks(const setup::Job& job, const std::string& setter, const comm::Session& session,
                        comm::Communicator& control, device::StopSignals* signals) {
    const int mhz = job.config.run.gpu_clock;
    const bool has_clocks = !setter.empty();
    if (!job.gpu || (mhz == 0 && !has_clocks)) return;
    RankGpu& gpu = *job.gpu;
    // No rank sets its clock before all ranks have passed the checks.
    run_or_fail_together(control, [&] {
        if (has_clocks)
            check_planned_clocks(gpu, setter, job.config);
        else
            gpu.require_meter(cat("--gpu-clock ", mhz)).check_clock(mhz);
    });
    if (job.config.run.dry_run) return;
    run_or_fail_together(control, [&] {
        try {
            gpu.set_clock(has_clocks ? static_cast<int>(gpu.list_clocks().front().mhz) : mhz);
        } catch (const ConfigError& error) {
            throw ConfigError(cat(
                has_clocks ? cat(setter, " sets clocks, but ") : cat("--gpu-clock ", mhz, ": "), error.what()));
        }
    });
    if (has_clocks) gpu.make_clock_setter(session, job.config.policy.clock_every);
    gpu.restore_clocks_on(signals);
}

std::shared_ptr<device::ClockedDevice> find_clocked_device(const setup::Job& job) {
    return job.gpu ? job.gpu : device::make_simulated_device();
}

std::shared_ptr<device::ClockSetter> make_clock_setter(const setup::Job& job) {
    if (job.gpu) return job.gpu->clock_setter();
    const std::shared_ptr<device::ClockedDevice> device = device::make_simulated_device();
    return device ? std::make_shared<device::ClockSetter>(device) : nullptr;
}

}  // namespace trireme::rank
