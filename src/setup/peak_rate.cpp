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

// Measures the rate of a GPU whose data sheet is unknown, with matmuls that are large enough to use the whole
// GPU.
double measured_product_rate(const device::GpuFacts& gpu, device::DType dtype) {
    constexpr std::size_t runs = 7;
    const auto side = 256 * static_cast<std::size_t>(std::ceil(std::sqrt(gpu.processors)));
    device::Arena memory("products", 3 * (side * side + 64) * bytes_of(dtype), device::MemorySpace::gpu);
    const kernels::Linear product{.input = memory.tensor(dtype, side, side),
                                  .weight = memory.tensor(dtype, side, side),
                                  .output = memory.tensor(dtype, side, side)};
    device::Stream stream = kernels::gpu_stream();
    std::vector<double> rates;
    for (std::size_t run = 0; run <= runs; ++run) {
        stream.ledger.clear();
        launch(stream, product);
        stream.settle();
        if (run > 0) rates.push_back(stream.ledger.flops() / stream.ledger.seconds());
    }
    return median_of(rates);
}

// Counts a GPU that several ranks share once.
PeakRate peak_of_gpus(comm::Communicator& group, const std::string& host, device::DType dtype) {
    const device::GpuFacts own = device::gpu_in_use();
    const std::optional<double> known = dense_rate_of(own.name, dtype);
    const std::vector<std::string> gpus = gather_all(group, cat(host, ' ', own.bus_id));
    const std::vector<double> rates =
        gather_all(group, std::array{known ? *known : measured_product_rate(own, dtype)});
    std::map<std::string, double> each;
    for (std::size_t rank = 0; rank < gpus.size(); ++rank) each[gpus[rank]] = rates[rank];
    PeakRate peak{
        .flops = 0,
        .is = cat(name_of(dtype), known ? " rate of the GPUs' data sheets" : " products of the GPUs, measured"),
        .is_measured = !known};
    for (const auto& [gpu, rate] : each) peak.flops += rate;
    return peak;
}

}  // namespace

PeakRate peak_of_all(comm::Communicator& group, const Job& job, int threads, const comm::Session& session) {
    if (job.devices) {
        return {.flops = job.devices->flops(),
                .is = cat(name_of(job.dtype), " rate of ", job.devices->counted()),
                .is_measured = false};
    }
    if (job.place == device::MemorySpace::gpu) return peak_of_gpus(group, session.host(), job.dtype);
    // One run is enough if the peak cannot be reached: with reference kernels, or if ranks share a core.
    const bool is_unreachable =
        job.config.precision.device == config::DeviceKind::reference || device::time_is_simulated() ||
        ranks_on_own_cores(session, group) > static_cast<int>(device::usable_cores().size());
    const std::size_t runs = is_unreachable ? 1 : 9;
    barrier(group);
    double sum = 0;
    for (const double peak :
         gather_all(group, std::array{kernels::measure_peak_flops(job.dtype, threads, runs)}))
        sum += peak;
    return {.flops = sum};
}

double peak_again(const PeakRate& before, comm::Communicator& group, const Job& job, int threads,
                  const comm::Session& session) {
    if (!before.is_measured || job.place == device::MemorySpace::gpu) return before.flops;
    return peak_of_all(group, job, threads, session).flops;
}

}  // namespace trireme::setup
