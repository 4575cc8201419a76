// Loss and prediction of answer spans (question answering): two softmaxes over the rows of each segment, one
// for the first row of the answer and one for the last.
#pragma once

#include <span>

#include "trireme/kernels/attention.hpp"

namespace trireme::kernels {

// Column 0 of the logits is for the first row of an answer, column 1 for the last. Let the answer of segment s
// be rows `first` to `last`. With sums over the rows of the segment:
//   losses[s] = (log(sum exp(logits[., 0])) - logits[first, 0]
//                + log(sum exp(logits[., 1])) - logits[last, 1]) / 2
// Rows of the logits are counted from the segment's begin here and below.
//
// losses[s] is 0 if answers[s, 0] is no_target. If `gradient_scale` is not 0, the logits are overwritten with
// gradient_scale * d losses / d logits. This gradient is zero in rows outside all segments and in segments
// without an answer.
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

// choices[s] = the pair of rows (first, last), counted from the segment's begin, with the largest sum
//   logits[first, 0] + logits[last, 1]
// Only pairs with first <= last < first + max_rows within the range [contexts[s, 0], contexts[s, 1]) are
// compared. If sums are equal, the pair with the lowest first row wins, then the pair with the lowest last row.
// choices[s] is (-1, -1) if the range is empty.
struct BestSpan {
    device::ConstTensor logits;         // (rows, 2)
    std::span<const Segment> segments;  // the rows of each sample
    // (segments, 2) i32: rows [begin, end) that an answer may use, counted from the segment's begin
    device::ConstTensor contexts;
    device::Tensor choices;     // (segments, 2) i32
    std::size_t max_rows = 30;  // maximum number of rows of an answer

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
