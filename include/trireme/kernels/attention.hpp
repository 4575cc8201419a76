// Multi-head attention within segments. A segment is the rows of one sample in a micro-batch, padded or packed;
// a token attends only to tokens of its own segment. The kernels never store a complete score matrix. (Dao et
// al., 2022; Rabe and Staats, 2021)
#pragma once

#include <cstdint>
#include <span>

#include "trireme/base/random.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// One sample of a micro-batch: rows [begin, begin + length), which attend to each other. Rows outside all
// segments are padding: their results are zeros.
struct Segment {
    std::size_t begin = 0;    // first row
    std::size_t length = 0;   // number of rows
    std::int64_t sample = 0;  // identifies the sample and the epoch; seeds the dropout of the weights
};

// The attention weight of query row q and key row k, both counted from the segment's begin, in head h (a global
// index) is kept if word k % 4 of
//   random_block(key.then(segment.sample), {k / 4, q, h, 1})
// is at least compute_drop_threshold(rate) of dropout.hpp, and set to 0 otherwise. Kept weights are
// multiplied by 1 / (1 - rate).
struct AttentionDropout {
    double rate = 0;             // probability that a weight is dropped
    RandomKey key = {};          // derived from the seed, the layer and the dropout's site in the layer
    std::size_t first_head = 0;  // global index of this rank's head 0

    bool is_on() const { return rate > 0; }
};

// Parameters that the forward and the backward pass share.
struct AttentionShape {
    std::span<const Segment> segments;
    std::size_t heads = 1;            // number of query heads
    std::size_t key_value_heads = 1;  // a divisor of `heads`: consecutive query heads share one (GQA)
    double scale = 1;                 // factor of the scores, usually 1 / sqrt(head size)
    bool is_causal = true;
    AttentionDropout dropout = {};
};

// Query head h uses key-value head h * key_value_heads / heads. `query`, `key` and `value` may be column ranges
// of one fused tensor.
struct Attention {
    device::ConstTensor query;  // (rows, heads * head size)
    device::ConstTensor key;    // (rows, key_value_heads * head size)
    device::ConstTensor value;  // (rows, key_value_heads * head size)
    device::Tensor output;      // (rows, heads * head size)
    device::Tensor log_sum;     // (rows, heads): log(sum exp(scores)), an input of the backward pass
    AttentionShape shape;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

struct AttentionBackward {
    device::ConstTensor query;        // (rows, heads * head size)
    device::ConstTensor key;          // (rows, key_value_heads * head size)
    device::ConstTensor value;        // (rows, key_value_heads * head size)
    device::ConstTensor output;       // (rows, heads * head size), from the forward pass
    device::ConstTensor log_sum;      // (rows, heads), from the forward pass
    device::ConstTensor grad_output;  // (rows, heads * head size)
    device::Tensor grad_query;        // (rows, heads * head size)
    device::Tensor grad_key;          // (rows, key_value_heads * head size)
    device::Tensor grad_value;        // (rows, key_value_heads * head size)
    AttentionShape shape;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const Attention& op);
void run(device::ReferenceStream& stream, const AttentionBackward& op);
void run(device::CpuStream& stream, const Attention& op);
void run(device::CpuStream& stream, const AttentionBackward& op);
void run(device::CudaStream& stream, const Attention& op);
void run(device::CudaStream& stream, const AttentionBackward& op);

}  // namespace trireme::kernels
