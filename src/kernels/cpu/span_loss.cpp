#include "trireme/kernels/span_loss.hpp"

#include "kernels/span_rows.hpp"

namespace trireme {

void run(CpuStream&, const SpanLoss& op) { run_spans(op); }

void run(CpuStream&, const BestSpan& op) { run_spans(op); }

}  // namespace trireme
