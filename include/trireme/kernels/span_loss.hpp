// Where an answer begins and ends: two softmaxes over the rows of each segment.
#pragma once

#include <span>

#include "trireme/kernels/attention.hpp"

namespace trireme::kernels {

// Column 0 of the logits says where answers begin, column 1 where they end. For segment s with an answer
//   losses[s] = (log(sum exp(begin logits)) - logits[begin, 0] + log(sum exp(end logits)) - logits[end, 1]) / 2
// over the rows of the segment alone; 0 where answers[s, 0] is no_target. If `gradient_scale` is not 0, the
// logits are overwritten with gradient_scale * d losses / d logits, zeros in rows of no segment or of one
// without answer.
struct SpanLoss {
    device::Tensor logits;              // (rows, 2); in: logits, out: gradients
    std::span<const Segment> segments;  // rows that belong together
    device::ConstTensor answers;  // (segments, 2) i32: first and last row, counted from the segment's begin
    device::Tensor losses;        // (segments) f64
    double gradient_scale = 0;

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// choices[s] = the first and last row, counted from the segment's begin, with the largest sum of their two
// logits among first <= last < first + longest within [contexts[s, 0], contexts[s, 1]); of equal ones the first
// found in order of first, then last. (-1, -1) where the range is empty.
struct BestSpan {
    device::ConstTensor logits;         // (rows, 2)
    std::span<const Segment> segments;  // rows that belong together
    device::ConstTensor contexts;       // (segments, 2) i32: rows that an answer may use, [begin, end)
    device::Tensor choices;             // (segments, 2) i32
    std::size_t longest = 30;           // rows of an answer

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
