// What one core multiplies while another may do the same: products of a training step's size, one after the
// other, by the wall clock. Started once, and twice at once, it tells what two ranks can reach of twice one.
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

// The first product of GPT-2's MLP, of 256 tokens.
class Product {
public:
    Product() {
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
    device::Arena memory_{"product", values * sizeof(float), device::MemorySpace::host};
    device::Tensor input_ = memory_.tensor(device::DType::f32, rows, inputs);
    device::Tensor weight_ = memory_.tensor(device::DType::f32, inputs, outputs);
    device::Tensor output_ = memory_.tensor(device::DType::f32, rows, outputs);
};

// Floating-point operations per second, over `seconds` seconds after a tenth of them to warm up.
double measure_rate(double seconds) {
    Product product;
    for (const double begin = device::now_seconds(); device::now_seconds() - begin < seconds / 10;)
        product.run();
    const double begin = device::now_seconds();
    double passed = 0;
    double calls = 0;
    for (; passed < seconds; ++calls) {
        product.run();
        passed = device::now_seconds() - begin;
    }
    return calls * Product::flops() / passed;
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
