// Multi-head attention within segments. A sequence may hold one padded sample or several packed ones; a token
// attends only to tokens of its own segment. The score matrix is never stored as a whole. (Dao et al., 2022;
// Rabe and Staats, 2021)
#pragma once

#include <cstdint>
#include <span>

#include "trireme/base/random.hpp"
#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// Rows [begin, begin + length), which attend to each other. Rows outside all segments are padding: their
// results are zeros.
struct Segment {
    std::size_t begin = 0;
    std::size_t length = 0;
    std::int64_t sample = 0;  // identifies sample and epoch, for dropout
};

// Weight (head, query, key) is kept if word key % 4 of
//   random_block(key.then(segment.sample), {key / 4, query, head, 1})
// is at least keep_threshold(rate). `query` and `key` are counted from the segment's begin. Kept weights are
// scaled by 1 / (1 - rate).
struct AttentionDropout {
    double rate = 0;
    RandomKey key = {};          // (seed, layer, site)
    std::size_t first_head = 0;  // global index of head 0

    bool is_on() const { return rate > 0; }
};

// Parameters that the forward and the backward pass share.
struct AttentionShape {
    std::span<const Segment> segments;
    std::size_t heads = 1;
    std::size_t groups = 1;  // number of key-value heads; heads % groups == 0
    double scale = 1;        // factor of the scores, usually 1 / sqrt(head size)
    bool is_causal = true;
    AttentionDropout dropout = {};
};

// Query head h uses key-value head h * groups / heads. The tensors may be column ranges of one fused tensor.
struct Attention {
    device::ConstTensor query;  // (rows, heads * head size)
    device::ConstTensor key;    // (rows, groups * head size)
    device::ConstTensor value;  // (rows, groups * head size)
    device::Tensor output;      // (rows, heads * head size)
    device::Tensor log_sum;     // (rows, heads): log(sum exp(scores)), kept for the backward pass
    AttentionShape shape;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

struct AttentionBackward {
    device::ConstTensor query;        // (rows, heads * head size)
    device::ConstTensor key;          // (rows, groups * head size)
    device::ConstTensor value;        // (rows, groups * head size)
    device::ConstTensor output;       // (rows, heads * head size), from the forward pass
    device::ConstTensor log_sum;      // (rows, heads), from the forward pass
    device::ConstTensor grad_output;  // (rows, heads * head size)
    device::Tensor grad_query;        // (rows, heads * head size)
    device::Tensor grad_key;          // (rows, groups * head size)
    device::Tensor grad_value;        // (rows, groups * head size)
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
