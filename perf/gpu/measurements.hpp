// Measurements of the GPU benchmarks, as the JSON that they write.
#pragma once

#include <nlohmann/json.hpp>

#include "gpu/products.hpp"

namespace trireme::perf {

using Json = nlohmann::ordered_json;

struct CopySizes {
    std::size_t within_bytes = std::size_t{2} << 30;   // within the GPU: more than any cache holds
    std::size_t outside_bytes = std::size_t{1} << 28;  // between the GPU and pinned host memory
};

// An MLP for which fused operations are measured.
struct FusedCase {
    std::string model = {};
    std::size_t rows = 0;
    std::size_t width = 0;  // channels of the model; the hidden layer of the MLP has 4 x width
};

// Measures the seconds of the MLP's matmuls in three variants: alone, with bias and activation (or its
// gradient) fused into the matmul, and with the activation (or its gradient) in a separate kernel.
Json measure_fused_matmuls(device::Stream& stream, const Rounds& rounds, const FusedCase& mlp);

// Settings of measure_rates(), which measures the rates of copies and matmuls, and the time to start a kernel.
struct RatesWork {
    Rounds rounds = {};
    CopySizes copies = {};
    std::size_t side = 8192;  // of the square matrices whose matmul is the reference
    std::vector<Projection> projections = list_model_projections();
    std::vector<FusedCase> fused_cases = {{"gpt2", 32 * 1024, 768}, {"gpt2-medium", 16 * 1024, 1024}};
};
Json measure_rates(device::Stream& stream, const RatesWork& work);

// Causal attention in bf16.
struct AttentionCase {
    std::string name;
    std::size_t samples = 1;
    std::size_t length = 1;  // tokens per sample
    std::size_t heads = 1;
    std::size_t groups = 1;  // groups of heads that share keys and values
    std::size_t head_size = 1;
};
std::vector<AttentionCase> usual_attention_cases();

// Settings of measure_attention(), which measures attention forward and backward, and for comparison the matmul
// rate.
struct AttentionWork {
    Rounds rounds = {};
    std::size_t side = 8192;  // as in RatesWork
    std::vector<AttentionCase> cases = usual_attention_cases();
};
Json measure_attention(device::Stream& stream, const AttentionWork& work);

// Returns facts about the GPU in use and the program.
Json gpu_facts_json();
Json to_json(const Timing& timing);
Json to_json(const MatmulRate& rate);

// Runs the command PROGRAM RESULT.json: measures on the first GPU and writes the result of `measure`. Returns
// the exit code.
int run_on_gpu(int argc, char** argv, Json (*measure)(device::Stream& stream));

}  // namespace trireme::perf
