#include <cstdio>

#include "gpu/measurements.hpp"
#include "gpu/random_tensor.hpp"
#include "trireme/kernels/activation.hpp"

namespace trireme::perf {
namespace {

// Of an MLP in bf16.
struct Operands {
    explicit Operands(const JoinedCase& of, Arena& memory)
        : narrow(memory.tensor(DType::bf16, of.rows, of.width)),
          up(memory.tensor(DType::bf16, of.width, 4 * of.width)),
          down(memory.tensor(DType::bf16, 4 * of.width, of.width)),
          bias(memory.tensor(DType::bf16, 1, 4 * of.width)),
          inner(memory.tensor(DType::bf16, of.rows, 4 * of.width)),
          result(memory.tensor(DType::bf16, of.rows, 4 * of.width)) {}

    Tensor narrow, up, down, bias;
    Tensor inner, result;  // before and behind the activation
};

// One product, three ways.
struct Ways {
    std::string name;
    std::function<void()> plain, joined, apart;
};

std::vector<Ways> ways_of(Stream& stream, const Operands& o) {
    const Linear forward{.input = o.narrow, .weight = o.up, .output = o.inner};
    Linear biased = forward;
    biased.bias = o.bias;
    Linear activated = biased;
    activated.activated = o.result;
    const LinearBackwardInput input{.grad_output = o.narrow, .weight = o.down, .grad_input = o.result};
    LinearBackwardInput sloped = input;
    sloped.activated_from = o.inner;
    const Activation activation{.input = o.inner, .output = o.result};
    const ActivationBackward slope{.input = o.inner, .grad_output = o.result, .grad_input = o.result};
    const auto does = [&stream](const auto&... ops) {
        return [&stream, ops...] { (launch(stream, ops), ...); };
    };
    return {{"bias and gelu", does(forward), does(activated), does(biased, activation)},
            {"gelu's gradient", does(input), does(sloped), does(input, slope)}};
}

Json seconds_json(Stream& stream, const Rounds& rounds, const std::function<void()>& work) {
    return time_on_gpu(stream, rounds, [&](std::size_t) { work(); }).median;
}

}  // namespace

Json measure_joined(Stream& stream, const Rounds& rounds, const JoinedCase& of) {
    Arena counted("sizes of operands", 0, Place::ghost);
    const Operands sizes(of, counted);
    Arena memory("operands", counted.peak(), Place::gpu);
    const Operands operands(of, memory);
    std::uint64_t name = 0;
    for (const Tensor& tensor : {operands.narrow, operands.up, operands.down, operands.bias, operands.inner})
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
