// What the two halves of a block have in common: each is a branch beside the residual that norms its input,
// multiplies with a first matrix, does something of its own, multiplies with a last one, drops out, and adds.
#pragma once

#include "trireme/kernels/dropout.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

// The places in a model where dropout happens.
enum class Site : std::uint64_t { embedding, attention, attention_residual, mlp_residual };

RandomKey site_key(const Pass& pass, std::size_t block, Site site);
Dropout dropout_at(const Pass& pass, double rate, std::size_t block, Site site);  // off when evaluating

// What a branch keeps for its backward pass, and then for its weight half.
struct BranchState {
    Tensor mean, inv_std;         // (rows)
    Tensor normed;                // (rows, width)         what the first matrix reads
    Tensor inner;                 // (rows, inner width)   what it gives
    Tensor result;                // (rows, result width)  what the last matrix reads
    ConstTensor grad_projection;  // (rows, width)         gradient of what the last matrix gives
    Tensor grad_inner;            // (rows, inner width)
    Tensor grad_normed;           // (rows, width)
};

struct BranchNames {
    const char *norm, *first, *last;  // "ln_1", "attn.c_attn", "attn.c_proj"
};

class ResidualBranch {
public:
    ResidualBranch(const ModelConfig& config, std::size_t block, Site site, std::size_t inner_width,
                   std::size_t result_width);
    std::vector<ParameterSpec> parameters(const BranchNames& names) const;  // weight and bias of each

    // From the input to state.inner, and from state.result, which must be filled by then, to the output.
    void open(const Pass& pass, Weights weights, ConstTensor input, BranchState& state, Arena& kept) const;
    Tensor close(const Pass& pass, Weights weights, ConstTensor input, const BranchState& state,
                 Arena& kept) const;

    // From grad_output to grad_result, and from state.grad_inner, which must be filled by then, to grad_input.
    void backward_close(const Pass& pass, Weights weights, ConstTensor grad_output, Tensor grad_result,
                        BranchState& state, Arena& kept) const;
    void backward_open(const Pass& pass, Weights weights, ConstTensor input, ConstTensor grad_output,
                       Tensor grad_input, BranchState& state, Arena& kept) const;

    void backward_weight(const Pass& pass, ConstTensor input, const BranchState& state,
                         Gradients gradients) const;

    std::size_t block() const { return block_; }

private:
    std::size_t block_, blocks_, width_, inner_width_, result_width_;
    Site site_;
    double epsilon_, deviation_, dropout_;
};

}  // namespace trireme
