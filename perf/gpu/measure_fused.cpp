#include <cstdio>

#include "gpu/measurements.hpp"
#include "gpu/random_tensor.hpp"
#include "trireme/kernels/activation.hpp"

namespace trireme::perf {
namespace {

// Tensors of an MLP in bf16.
struct Operands {
    explicit Operands(const FusedCase& mlp, device::Arena& memory)
        : narrow(memory.tensor(device::DType::bf16, mlp.rows, mlp.width)),
          up(memory.tensor(device::DType::bf16, mlp.width, 4 * mlp.width)),
          down(memory.tensor(device::DType::bf16, 4 * mlp.width, mlp.width)),
          bias(memory.tensor(device::DType::bf16, 1, 4 * mlp.width)),
          inner(memory.tensor(device::DType::bf16, mlp.rows, 4 * mlp.width)),
          result(memory.tensor(device::DType::bf16, mlp.rows, 4 * mlp.width)) {}

    device::Tensor narrow;    // input of the MLP, or gradient of its output
    device::Tensor up, down;  // weights of the two projections
    device::Tensor bias;
    device::Tensor inner, result;  // before and after the activation
};

// One matmul in three variants: alone, with all additional operations fused, and followed by a separate kernel
// for the activation or its gradient. A bias is fused into the matmul in `separate`, too.
struct MatmulVariants {
    std::string name;
    std::function<void()> plain, fused, separate;
};

std::vector<MatmulVariants> make_variants(device::Stream& stream, const Operands& o) {
    const kernels::Linear forward{.input = o.narrow, .weight = o.up, .output = o.inner};
    kernels::Linear biased = forward;
    biased.bias = o.bias;
    kernels::Linear activated = biased;
    activated.activated_output = o.result;
    const kernels::LinearBackwardInput backward{
        .grad_output = o.narrow, .weight = o.down, .grad_input = o.result};
    kernels::LinearBackwardInput fused_backward = backward;
    fused_backward.activation_input = o.inner;
    const kernels::Activation activation{.input = o.inner, .output = o.result};
    const kernels::ActivationBackward activation_backward{
        .input = o.inner, .grad_output = o.result, .grad_input = o.result};
    // Returns a function that launches `ops` one after the other.
    const auto does = [&stream](const auto&... ops) {
        return [&stream, ops...] { (kernels::launch(stream, ops), ...); };
    };
    return {{"bias and GELU", does(forward), does(activated), does(biased, activation)},
            {"gradient of GELU", does(backward), does(fused_backward), does(backward, activation_backward)}};
}

Json seconds_json(device::Stream& stream, const Rounds& rounds, const std::function<void()>& work) {
    return time_on_gpu(stream, rounds, [&](std::size_t) { work(); }).median;
}

}  // namespace

Json measure_fused_matmuls(device::Stream& stream, const Rounds& rounds, const FusedCase& mlp) {
    device::Arena counted("sizes of operands", 0, device::MemorySpace::ghost);
    const Operands sizes(mlp, counted);  // counts the bytes without allocating memory
    device::Arena memory("operands", counted.peak(), device::MemorySpace::gpu);
    const Operands operands(mlp, memory);
    std::uint64_t name = 0;
    for (const device::Tensor& tensor :
         {operands.narrow, operands.up, operands.down, operands.bias, operands.inner})
        fill_at_random(stream, tensor, name++);
    Json list = Json::array();
    for (const MatmulVariants& variants : make_variants(stream, operands)) {
        list.push_back({{"model", mlp.model},
                        {"joined", variants.name},
                        {"plain_s", seconds_json(stream, rounds, variants.plain)},
                        {"joined_s", seconds_json(stream, rounds, variants.fused)},
                        {"apart_s", seconds_json(stream, rounds, variants.separate)}});
        const auto microseconds = [&](const char* key) { return 1e6 * list.back()[key].get<double>(); };
        std::printf("%-12s %-30s matmul alone %.1f us, fused %.1f us, separate kernels %.1f us\n",
                    mlp.model.c_str(), variants.name.c_str(), microseconds("plain_s"), microseconds("joined_s"),
                    microseconds("apart_s"));
    }
    return list;
}

}  // namespace trireme::perf
