#include "train/peak_rate.hpp"

#include <array>

#include "trireme/base/error.hpp"
#include "trireme/comm/collectives.hpp"
#include "trireme/kernels/peak.hpp"

namespace trireme {

// Reference kernels are so far from the peak that one look is enough.
PeakRate peak_of_all(Communicator& group, const RunConfig& config, const Setup& setup, int threads) {
    if (setup.devices) {
        return {.flops = setup.devices->flops(),
                .is = cat(name_of(setup.dtype), " rate of ", setup.devices->counted()),
                .is_measured = false};
    }
    const std::size_t runs = config.precision.device == DeviceKind::reference ? 1 : 9;
    barrier(group);
    double sum = 0;
    for (const double peak : gather_all(group, std::array{measure_peak_flops(setup.dtype, threads, runs)}))
        sum += peak;
    return {.flops = sum};
}

}  // namespace trireme
