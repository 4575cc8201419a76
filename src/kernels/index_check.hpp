// Checks that row and column indices lie within their tables. The check() of an operation never reads the
// elements of a tensor, so the backends that use host memory call check_indices(). check_indices()
// throws BugError with the first index that is out of range or, in a scatter, repeats an earlier one.
#pragma once

#include <span>

#include "kernels/shape_check.hpp"
#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/columns.hpp"
#include "trireme/kernels/cross_entropy.hpp"
#include "trireme/kernels/embedding.hpp"
#include "trireme/kernels/logit_statistics.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/kernels/span_loss.hpp"

namespace trireme::kernels {

void check_indices(const Embedding& op);
void check_indices(const EmbeddingBackward& op);
void check_indices(const CrossEntropy& op);
void check_indices(const LogitStatistics& op);
void check_indices(const MergeLogitStatistics& op);
void check_indices(const LogitGradients& op);
void check_indices(const GatherRows& op);
void check_indices(const ScatterRows& op);
void check_indices(const GatherColumns& op);
void check_indices(const ScatterColumns& op);
void check_indices(const SpanLoss& op);
void check_indices(const BestSpan& op);

// Throws BugError unless the segments lie within `rows` rows and do not overlap.
void check_segments(const ShapeCheck& check, std::span<const Segment> segments, std::size_t rows);

}  // namespace trireme::kernels
