// Measures the rates of causal attention in bf16, forward and backward, and compares them with the matmul rate.
//
//   perf_gpu_attention RESULT.json
#include "gpu/measurements.hpp"

int main(int argc, char** argv) {
    using namespace trireme::perf;
    return run_on_gpu(
        argc, argv, +[](trireme::device::Stream& stream) { return measure_attention(stream, {}); });
}
