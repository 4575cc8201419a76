#include "trireme/setup/peak_rate.hpp"

#include <array>
#include <cmath>
#include <map>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/gpu.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/kernels/gpu_stream.hpp"
#include "trireme/kernels/linear.hpp"
#include "trireme/kernels/peak.hpp"
#include "trireme/setup/node_share.hpp"

namespace trireme::setup {
namespace {

// Returns the FLOP/s of a GPU whose data sheet is unknown: the median over several matmuls. The output has at
// least one tile of 256 x 256 elements per multiprocessor, so that all multiprocessors are used.
double measure_matmul_rate(const device::GpuFacts& gpu, device::DType dtype) {
    constexpr std::size_t measured_runs = 7;
    const auto side = 256 * static_cast<std::size_t>(std::ceil(std::sqrt(gpu.multiprocessors)));
    device::Arena memory("products", 3 * (side * side + 64) * byte_size(dtype), device::MemorySpace::gpu);
    const kernels::Linear matmul{.input = memory.tensor(dtype, side, side),
                                 .weight = memory.tensor(dtype, side, side),
                                 .output = memory.tensor(dtype, side, side)};
    device::Stream stream = kernels::make_gpu_stream();
    std::vector<double> rates;
    for (std::size_t run = 0; run <= measured_runs; ++run) {
        stream.ledger.clear();
        launch(stream, matmul);
        stream.synchronize();
        // Run 0 only warms up the GPU.
        if (run > 0) rates.push_back(stream.ledger.flops() / stream.ledger.seconds());
    }
    return compute_median(rates);
}

// Collective over `group`. Returns the sum of the rates of all GPUs. The rate of a GPU that several ranks share
// is added only once. `description` and `is_measured` of the result depend only on the GPU of this rank.
PeakRate find_gpu_peak_rate(comm::Communicator& group, const std::string& host, device::DType dtype) {
    const device::GpuFacts own_gpu = device::selected_gpu();
    const std::optional<double> data_sheet_rate = find_peak_flops_per_second(own_gpu.name, dtype);
    const std::vector<std::string> gpu_of_rank = all_gather(group, cat(host, ' ', own_gpu.bus_id));
    const std::vector<double> rates =
        all_gather(group, std::array{data_sheet_rate ? *data_sheet_rate : measure_matmul_rate(own_gpu, dtype)});
    std::map<std::string, double> rate_by_gpu;
    for (std::size_t rank = 0; rank < gpu_of_rank.size(); ++rank) rate_by_gpu[gpu_of_rank[rank]] = rates[rank];
    PeakRate peak{.flops = 0,
                  .description = cat(to_string(dtype), data_sheet_rate ? " rate of the GPUs' data sheets"
                                                                       : " matmuls of the GPUs, measured"),
                  .is_measured = !data_sheet_rate};
    for (const auto& [gpu, rate] : rate_by_gpu) peak.flops += rate;
    return peak;
}

}  // namespace

PeakRate find_peak_rate(comm::Communicator& group, const Job& job, int threads, const comm::Session& session) {
    if (job.devices) {
        return {.flops = job.devices->compute_total_flops(),
                .description = cat(to_string(job.dtype), " rate of ", job.devices->list_counts()),
                .is_measured = false};
    }
    if (job.memory_space == device::MemorySpace::gpu)
        return find_gpu_peak_rate(group, session.host(), job.dtype);
    // One run of the measurement is enough if training cannot reach the peak rate: with reference kernels, in
    // simulated time, or if several ranks share a core.
    const bool cannot_reach_peak =
        job.config.precision.device == config::DeviceKind::reference || device::time_is_simulated() ||
        count_ranks_on_same_cores(session, group) > static_cast<int>(device::list_usable_cores().size());
    const std::size_t runs = cannot_reach_peak ? 1 : 9;
    barrier(group);
    double total_flops = 0;
    for (const double flops :
         all_gather(group, std::array{kernels::measure_peak_flops(job.dtype, threads, runs)}))
        total_flops += flops;
    return {.flops = total_flops};
}

double repeat_peak_measurement(const PeakRate& before, comm::Communicator& group, const Job& job, int threads,
                               const comm::Session& session) {
    if (!before.is_measured || job.memory_space == device::MemorySpace::gpu) return before.flops;
    return find_peak_rate(group, job, threads, session).flops;
}

}  // namespace trireme::setup
