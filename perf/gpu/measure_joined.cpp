#include <cstdio>

#include "gpu/measurements.hpp"
#include "gpu/random_tensor.hpp"
#include "trireme/kernels/activation.hpp"

namespace trireme::perf {
namespace {

// Tensors of an MLP in bf16.
struct Operands {
    explicit Operands(const JoinedCase& of, device::Arena& memory)
        : narrow(memory.tensor(device::DType::bf16, of.rows, of.width)),
          up(memory.tensor(device::DType::bf16, of.width, 4 * of.width)),
          down(memory.tensor(device::DType::bf16, 4 * of.width, of.width)),
          bias(memory.tensor(device::DType::bf16, 1, 4 * of.width)),
          inner(memory.tensor(device::DType::bf16, of.rows, 4 * of.width)),
          result(memory.tensor(device::DType::bf16, of.rows, 4 * of.width)) {}

    device::Tensor narrow, up, down, bias;
    device::Tensor inner, result;  // before and after the activation
};

// One matmul in three variants: alone, with the additional operation fused, and followed by a separate kernel.
struct Ways {
    std::string name;
    std::function<void()> plain, joined, apart;
};

std::vector<Ways> ways_of(device::Stream& stream, const Operands& o) {
    const kernels::Linear forward{.input = o.narrow, .weight = o.up, .output = o.inner};
    kernels::Linear biased = forward;
    biased.bias = o.bias;
    kernels::Linear activated = biased;
    activated.activated = o.result;
    const kernels::LinearBackwardInput input{.grad_output = o.narrow, .weight = o.down, .grad_input = o.result};
    kernels::LinearBackwardInput sloped = input;
    sloped.activated_from = o.inner;
    const kernels::Activation activation{.input = o.inner, .output = o.result};
    const kernels::ActivationBackward slope{.input = o.inner, .grad_output = o.result, .grad_input = o.result};
    const auto does = [&stream](const auto&... ops) {
        return [&stream, ops...] { (kernels::launch(stream, ops), ...); };
    };
    return {{"bias and gelu", does(forward), does(activated), does(biased, activation)},
            {"gelu's gradient", does(input), does(sloped), does(input, slope)}};
}

Json seconds_json(device::Stream& stream, const Rounds& rounds, const std::function<void()>& work) {
    return time_on_gpu(stream, rounds, [&](std::size_t) { work(); }).median;
}

}  // namespace

Json measure_joined(device::Stream& stream, const Rounds& rounds, const JoinedCase& of) {
    device::Arena counted("sizes of operands", 0, device::MemorySpace::ghost);
    const Operands sizes(of, counted);
    device::Arena memory("operands", counted.peak(), device::MemorySpace::gpu);
    const Operands operands(of, memory);
    std::uint64_t name = 0;
    for (const device::Tensor& tensor :
         {operands.narrow, operands.up, operands.down, operands.bias, operands.inner})
        fill_at_random(stream, tensor, name++);
    Json list = Json::array();
    for (const Ways& ways : ways_of(stream, operands)) {
        list.push_back({{"model", of.model},
                        {"joined", ways.name},
                        {"plain_s", seconds_json(stream, rounds, ways.plain)},
                        {"joined_s", seconds_json(stream, rounds, ways.joined)},
                        {"apart_s", seconds_json(stream, rounds, ways.apart)}});
        std::printf("%-12s %-30s %s\n", of.model.c_str(), ways.name.c_str(), list.back().dump().c_str());
    }
    return list;
}

}  // namespace trireme::perf
