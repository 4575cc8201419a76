// What the GPU's programs measure, as their files have it.
#pragma once

#include <nlohmann/json.hpp>

#include "gpu/products.hpp"

namespace trireme::perf {

using Json = nlohmann::ordered_json;

struct CopySizes {
    std::size_t within_bytes = std::size_t{2} << 30;   // beyond any cache
    std::size_t outside_bytes = std::size_t{1} << 28;  // between the GPU and pinned memory
};

// What the library's products take along with their work, beside the products alone and kernels of its own.
struct JoinedCase {
    std::string model = {};
    std::size_t rows = 0;
    std::size_t width = 0;  // an MLP has four times as many channels
};
Json measure_joined(device::Stream& stream, const Rounds& rounds, const JoinedCase& of);

// Rates of copies and of products, and what starting a kernel takes.
struct RatesWork {
    Rounds rounds = {};
    CopySizes copies = {};
    std::size_t side = 8192;
    std::vector<Projection> projections = projections_of_models();
    std::vector<JoinedCase> joined = {{"gpt2", 32 * 1024, 768}, {"gpt2-medium", 16 * 1024, 1024}};
};
Json measure_rates(device::Stream& stream, const RatesWork& work);

// Causal, in bf16.
struct AttentionCase {
    std::string name;
    std::size_t samples = 1;
    std::size_t length = 1;  // tokens of a sample
    std::size_t heads = 1;
    std::size_t groups = 1;  // of heads that share keys and values
    std::size_t head_size = 1;
};
std::vector<AttentionCase> usual_attention_cases();

// Forward and backward, beside the rate of products.
struct AttentionWork {
    Rounds rounds = {};
    std::size_t side = 8192;
    std::vector<AttentionCase> cases = usual_attention_cases();
};
Json measure_attention(device::Stream& stream, const AttentionWork& work);

// The GPU in use, and the program.
Json gpu_facts_json();
Json json_of(const Timing& timing);
Json json_of(const ProductRate& rate);

// PROGRAM RESULT.json: measures on the first GPU, and writes what `measure` gives. Gives the exit code.
int run_on_gpu(int argc, char** argv, Json (*measure)(device::Stream& stream));

}  // namespace trireme::perf
