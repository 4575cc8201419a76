#include "trireme/kernels/span_loss.hpp"

#include "kernels/span_rows.hpp"

namespace trireme {

void run(ReferenceStream&, const SpanLoss& op) { run_spans(op); }

void run(ReferenceStream&, const BestSpan& op) { run_spans(op); }

}  // namespace trireme
