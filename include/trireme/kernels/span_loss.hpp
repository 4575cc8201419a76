// Loss and prediction of answer spans (question answering): two softmaxes over the rows of each segment.
#pragma once

#include <span>

#include "trireme/kernels/attention.hpp"

namespace trireme::kernels {

// Column 0 holds the logits of the first row of an answer, column 1 those of the last. For segment s with an
// answer
//   losses[s] = (log(sum exp(begin logits)) - logits[begin, 0] + log(sum exp(end logits)) - logits[end, 1]) / 2
// over the rows of the segment; 0 if answers[s, 0] is no_target. If `gradient_scale` is not 0, the logits are
// overwritten with gradient_scale * d losses / d logits. Rows outside all segments, or in a segment without
// answer, become zero.
struct SpanLoss {
    device::Tensor logits;              // (rows, 2); in: logits, out: gradients
    std::span<const Segment> segments;  // the rows of each sample
    device::ConstTensor answers;  // (segments, 2) i32: first and last row, counted from the segment's begin
    device::Tensor losses;        // (segments) f64
    double gradient_scale = 0;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// choices[s] = the pair (first, last), counted from the segment's begin, with the largest sum of its two
// logits. Pairs satisfy first <= last < first + longest and lie within [contexts[s, 0], contexts[s, 1]). Of
// equal sums the pair with the lowest first row wins, then the lowest last row. (-1, -1) if the range is empty.
struct BestSpan {
    device::ConstTensor logits;         // (rows, 2)
    std::span<const Segment> segments;  // the rows of each sample
    device::ConstTensor contexts;       // (segments, 2) i32: rows [begin, end) that an answer may use
    device::Tensor choices;             // (segments, 2) i32
    std::size_t longest = 30;           // maximum rows of an answer

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const SpanLoss& op);
void run(device::ReferenceStream& stream, const BestSpan& op);
void run(device::CpuStream& stream, const SpanLoss& op);
void run(device::CpuStream& stream, const BestSpan& op);
void run(device::CudaStream& stream, const SpanLoss& op);
void run(device::CudaStream& stream, const BestSpan& op);

}  // namespace trireme::kernels
