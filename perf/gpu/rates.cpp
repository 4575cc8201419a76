// Measures the rate of copies, the rate of bf16 matmuls with the shapes of three models, and the time to start
// a kernel.
//
//   perf_gpu_rates RESULT.json
#include "gpu/measurements.hpp"

int main(int argc, char** argv) {
    using namespace trireme::perf;
    return run_on_gpu(
        argc, argv, +[](trireme::device::Stream& stream) { return measure_rates(stream, {}); });
}
