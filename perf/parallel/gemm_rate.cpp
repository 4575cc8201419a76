// Measures the matmul rate of one core by the wall clock, with matmuls of a training step's size. Comparing one
// process with two at once shows how much of the doubled rate two ranks can reach.
//
//   taskset -c CORE perf_gemm_rate SECONDS RESULT.json
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "trireme/device/buffer.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/kernels/fill.hpp"
#include "trireme/kernels/linear.hpp"

namespace trireme::perf {
namespace {

// The first matmul of GPT-2's MLP, for 256 tokens.
class Matmul {
public:
    Matmul() {
        for (const device::Tensor& operand : {input_, weight_})
            launch(stream_, kernels::Fill{.output = operand, .value = 0.5});
    }

    void run() {
        stream_.ledger.clear();
        launch(stream_, kernels::Linear{.input = input_, .weight = weight_, .output = output_});
    }

    static constexpr double flops() { return 2.0 * rows * inputs * outputs; }

private:
    static constexpr std::size_t rows = 256, inputs = 768, outputs = 3072;
    static constexpr std::size_t values = rows * inputs + inputs * outputs + rows * outputs;

    device::Stream stream_{.backend = device::CpuStream{.threads = 1}};
    device::Arena memory_{"matmul", values * sizeof(float), device::MemorySpace::host};
    device::Tensor input_ = memory_.tensor(device::DType::f32, rows, inputs);
    device::Tensor weight_ = memory_.tensor(device::DType::f32, inputs, outputs);
    device::Tensor output_ = memory_.tensor(device::DType::f32, rows, outputs);
};

// Returns the floating-point operations per second over `seconds` seconds, after a warm-up of `seconds` / 10.
double measure_rate(double seconds) {
    Matmul matmul;
    for (const double begin = device::now_seconds(); device::now_seconds() - begin < seconds / 10;)
        matmul.run();
    const double begin = device::now_seconds();
    double passed = 0;
    double calls = 0;
    for (; passed < seconds; ++calls) {
        matmul.run();
        passed = device::now_seconds() - begin;
    }
    return calls * Matmul::flops() / passed;
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s SECONDS RESULT.json\n", argv[0]);
        return 2;
    }
    const double rate = trireme::perf::measure_rate(std::stod(argv[1]));
    std::ofstream(argv[2]) << nlohmann::json{{"gflops", 1e-9 * rate}} << '\n';
    return 0;
}
