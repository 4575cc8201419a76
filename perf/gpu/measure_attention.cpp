#include <cmath>
#include <cstdio>

#include "gpu/measurements.hpp"
#include "gpu/random_tensor.hpp"
#include "trireme/kernels/attention.hpp"

namespace trireme::perf {
namespace {

// Query, key and value are column ranges of one tensor, as one matmul computes them.
class Operands {
public:
    Operands(device::Stream& stream, const AttentionCase& one)
        : rows_(one.samples * one.length),
          query_channels_(one.heads * one.head_size),
          key_channels_(one.groups * one.head_size),
          memory_("attention", bytes(one), device::MemorySpace::gpu) {
        for (std::size_t s = 0; s < one.samples; ++s)
            segments_.push_back(
                {.begin = s * one.length, .length = one.length, .sample = static_cast<std::int64_t>(s)});
        shape_ = {.segments = segments_,
                  .heads = one.heads,
                  .key_value_heads = one.groups,
                  .scale = 1 / std::sqrt(static_cast<double>(one.head_size))};
        allocate_tensors(memory_, one);
        fill_at_random(stream, fused_, 1);
        fill_at_random(stream, grad_output_, 2);
    }
    Operands(const Operands&) = delete;
    Operands& operator=(const Operands&) = delete;

    kernels::Attention forward() const {
        return {.query = fused_.column_range(0, query_channels_),
                .key = fused_.column_range(query_channels_, key_channels_),
                .value = fused_.column_range(query_channels_ + key_channels_, key_channels_),
                .output = output_,
                .log_sum = log_sum_,
                .shape = shape_};
    }
    kernels::AttentionBackward backward() const {
        const kernels::Attention before = forward();
        return {.query = before.query,
                .key = before.key,
                .value = before.value,
                .output = output_,
                .log_sum = log_sum_,
                .grad_output = grad_output_,
                .grad_query = grad_fused_.column_range(0, query_channels_),
                .grad_key = grad_fused_.column_range(query_channels_, key_channels_),
                .grad_value = grad_fused_.column_range(query_channels_ + key_channels_, key_channels_),
                .shape = shape_};
    }

private:
    void allocate_tensors(device::Arena& memory, const AttentionCase& one) {
        fused_ = memory.tensor(device::DType::bf16, rows_, query_channels_ + 2 * key_channels_);
        grad_fused_ = memory.tensor(device::DType::bf16, rows_, query_channels_ + 2 * key_channels_);
        output_ = memory.tensor(device::DType::bf16, rows_, query_channels_);
        grad_output_ = memory.tensor(device::DType::bf16, rows_, query_channels_);
        log_sum_ = memory.tensor(device::DType::f32, rows_, one.heads);
    }
    // Returns the bytes of all tensors. A ghost arena counts them without allocating memory.
    std::size_t bytes(const AttentionCase& one) {
        device::Arena counted("sizes of operands", 0, device::MemorySpace::ghost);
        allocate_tensors(counted, one);
        return counted.peak();
    }

    std::size_t rows_, query_channels_, key_channels_;
    device::Tensor fused_, grad_fused_;    // (rows, (heads + 2 groups) x head size)
    device::Tensor output_, grad_output_;  // (rows, heads x head size)
    device::Tensor log_sum_;               // (rows, heads)
    device::Arena memory_;
    std::vector<kernels::Segment> segments_;
    kernels::AttentionShape shape_;
};

template <class Op>
Json pass_json(device::Stream& stream, const Rounds& rounds, const Op& op, double reference_flops_per_s) {
    const Timing timing = time_on_gpu(stream, rounds, [&](std::size_t) { kernels::launch(stream, op); });
    const double flops_per_s = op.cost().flops / timing.median;
    Json json{{"flops_per_s", flops_per_s}, {"share", flops_per_s / reference_flops_per_s}};
    json.update(to_json(timing));
    return json;
}

void print(const AttentionCase& one, const Json& passes) {
    std::printf("%-12s %2zu x %4zu tokens, %2zu heads of %3zu:", one.name.c_str(), one.samples, one.length,
                one.heads, one.head_size);
    for (const char* pass : {"forward", "backward"})
        std::printf(" %s %.1f TFLOP/s (%.1f %%)", pass, 1e-12 * passes[pass]["flops_per_s"].get<double>(),
                    100 * passes[pass]["share"].get<double>());
    std::printf(" of the matmul rate\n");
    std::fflush(stdout);
}

Json case_json(device::Stream& stream, const Rounds& rounds, const AttentionCase& one,
               double reference_flops_per_s) {
    const Operands operands(stream, one);
    Json json{{"name", one.name},   {"samples", one.samples}, {"length", one.length},
              {"heads", one.heads}, {"groups", one.groups},   {"head_size", one.head_size}};
    json["forward"] = pass_json(stream, rounds, operands.forward(), reference_flops_per_s);
    json["backward"] = pass_json(stream, rounds, operands.backward(), reference_flops_per_s);
    print(one, json);
    return json;
}

}  // namespace

// The first three shapes are those of the models that perf/gpu/check.sh trains. The others are those of papers
// on attention: 2,048 channels, and 16,384 tokens in total. The name "64 of 1,024" means heads of 64 channels
// and samples of 1,024 tokens.
std::vector<AttentionCase> usual_attention_cases() {
    return {{"gpt2", 32, 1024, 12, 12, 64},        {"gpt2-medium", 16, 1024, 16, 16, 64},
            {"llama-1b", 8, 1024, 32, 8, 64},      {"64 of 1,024", 16, 1024, 32, 32, 64},
            {"64 of 4,096", 4, 4096, 32, 32, 64},  {"128 of 1,024", 16, 1024, 16, 16, 128},
            {"128 of 4,096", 4, 4096, 16, 16, 128}};
}

Json measure_attention(device::Stream& stream, const AttentionWork& work) {
    const MatmulRate reference = measure_matmul_rate(stream, work.rounds, work.side);
    Json result{
        {"rounds", work.rounds.count},
        {"flops_counted", "only causal pairs: 4 x pairs x channels forward, 10 x pairs x channels backward"},
        {"gemm", to_json(reference)},
        {"cases", Json::array()}};
    for (const AttentionCase& one : work.cases)
        result["cases"].push_back(case_json(stream, work.rounds, one, reference.flops_per_s()));
    return result;
}

}  // namespace trireme::perf
