// How fast the GPU copies, multiplies in bf16 the shapes of three models' projections, and starts kernels.
//
//   perf_gpu_rates RESULT.json
#include "gpu/measurements.hpp"

int main(int argc, char** argv) {
    using namespace trireme::perf;
    return run_on_gpu(
        argc, argv, +[](trireme::device::Stream& stream) { return measure_rates(stream, {}); });
}
