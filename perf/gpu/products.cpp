#include "gpu/products.hpp"

#include "gpu/random_tensor.hpp"

namespace trireme::perf {
namespace {

struct Operands {
    device::Tensor input;        // (rows, in)
    device::Tensor weight;       // (in, out) or (out, in)
    device::Tensor output;       // (rows, out)
    device::Tensor grad_weight;  // shaped like the weight, f32; only for the backward pass of the weight

    std::size_t bytes() const { return input.bytes() + weight.bytes() + output.bytes() + grad_weight.bytes(); }
};

// Sets of operands for the same matmul. Together they have at least `min_bytes` bytes, which is more than a
// cache holds; calls use the sets in turn.
class OperandSets {
public:
    OperandSets(device::Stream& stream, std::size_t min_bytes, const Projection& projection, MatmulPass pass)
        : stream_(stream), projection_(projection), has_gradients_(pass == MatmulPass::backward_weight) {
        // Ghost memory counts bytes without allocating them.
        device::Arena counted("sizes of operands", 0, device::MemorySpace::ghost);
        const std::size_t bytes = make(counted).bytes();
        const std::size_t count = std::max<std::size_t>((min_bytes + bytes - 1) / bytes, 1);
        for (std::size_t set = 1; set < count; ++set) make(counted);
        memory_ = device::Arena("operands", counted.peak(), device::MemorySpace::gpu);
        for (std::size_t set = 0; set < count; ++set) sets_.push_back(filled(make(memory_), set));
    }

    const Operands& operands_for(std::size_t call) const { return sets_[call % sets_.size()]; }

private:
    Operands make(device::Arena& memory) const {
        const auto [rows, in, out] = std::array{projection_.rows, projection_.in, projection_.out};
        const bool is_in_out = projection_.axes == kernels::WeightAxes::in_out;
        const auto weight_of = [&](device::DType dtype) {
            return memory.tensor(dtype, is_in_out ? in : out, is_in_out ? out : in);
        };
        return {.input = memory.tensor(device::DType::bf16, rows, in),
                .weight = weight_of(device::DType::bf16),
                .output = memory.tensor(device::DType::bf16, rows, out),
                .grad_weight = has_gradients_ ? weight_of(device::DType::f32) : device::Tensor{}};
    }

    Operands filled(const Operands& operands, std::size_t set) {
        std::uint64_t name = 4 * set;  // selects the random numbers of a tensor; a set uses up to 4 names
        for (const device::Tensor& tensor : {operands.input, operands.weight, operands.output})
            fill_at_random(stream_, tensor, name++);
        return operands;
    }

    device::Stream& stream_;
    Projection projection_;
    bool has_gradients_;
    device::Arena memory_{"operands", 0, device::MemorySpace::ghost};
    std::vector<Operands> sets_;
};

void multiply(device::Stream& stream, const Operands& o, kernels::WeightAxes axes, MatmulPass pass) {
    switch (pass) {
        case MatmulPass::forward:
            launch(stream,
                   kernels::Linear{.input = o.input, .weight = o.weight, .output = o.output, .axes = axes});
            return;
        case MatmulPass::backward_input:
            launch(stream,
                   kernels::LinearBackwardInput{
                       .grad_output = o.output, .weight = o.weight, .grad_input = o.input, .axes = axes});
            return;
        case MatmulPass::backward_weight:
            launch(stream,
                   kernels::LinearBackwardWeight{
                       .input = o.input, .grad_output = o.output, .grad_weight = o.grad_weight, .axes = axes});
            return;
    }
}

// Projections of a block of GPT-2, and of the head with two sizes of the vocabulary.
std::vector<Projection> make_gpt2_projections(const std::string& model, std::size_t rows, std::size_t width) {
    return {{model, "query, key, value", rows, width, 3 * width},
            {model, "attention output", rows, width, width},
            {model, "mlp, up", rows, width, 4 * width},
            {model, "mlp, down", rows, 4 * width, width},
            {model, "head", rows, width, 50257, kernels::WeightAxes::out_in},
            {model, "head, padded to 50,304 tokens", rows, width, 50304, kernels::WeightAxes::out_in}};
}

// Projections of llama-1b. Its 32 heads share 8 groups of keys and values; each group has 64 channels.
std::vector<Projection> make_llama_projections(std::size_t rows) {
    const std::string model = "llama-1b";
    constexpr std::size_t width = 2048, key_channels = 8 * 64, mlp_width = 8192;
    constexpr kernels::WeightAxes axes = kernels::WeightAxes::out_in;
    return {{model, "query, key, value", rows, width, width + 2 * key_channels, axes},
            {model, "attention output", rows, width, width, axes},
            {model, "mlp, gate and up", rows, width, 2 * mlp_width, axes},
            {model, "mlp, down", rows, mlp_width, width, axes},
            {model, "head", rows, width, 128256, axes}};
}

}  // namespace

double Projection::flops() const {
    return 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
}

const char* to_string(MatmulPass pass) {
    switch (pass) {
        case MatmulPass::forward:
            return "forward";
        case MatmulPass::backward_input:
            return "backward, input half";
        case MatmulPass::backward_weight:
            return "backward, weight half";
    }
    throw BugError("a matmul pass has no name");
}

Timing time_matmul(device::Stream& stream, const Rounds& rounds, const Projection& projection,
                   MatmulPass pass) {
    const OperandSets sets(stream, rounds.operand_bytes, projection, pass);
    return time_on_gpu(stream, rounds, [&](std::size_t call) {
        multiply(stream, sets.operands_for(call), projection.axes, pass);
    });
}

double MatmulRate::flops_per_s() const {
    return Projection{.rows = side, .in = side, .out = side}.flops() / timing.median;
}

MatmulRate measure_matmul_rate(device::Stream& stream, const Rounds& rounds, std::size_t side) {
    const Projection square{.rows = side, .in = side, .out = side};
    return {.side = side, .timing = time_matmul(stream, rounds, square, MatmulPass::forward)};
}

std::vector<Projection> list_model_projections() {
    std::vector<Projection> all;
    for (const auto& one :
         {make_gpt2_projections("gpt2", 32 * 1024, 768), make_gpt2_projections("gpt2-medium", 16 * 1024, 1024),
          make_llama_projections(8 * 1024)})
        all.insert(all.end(), one.begin(), one.end());
    return all;
}

}  // namespace trireme::perf
