#include "trireme/records/evaluation.hpp"

#include <fmt/format.h>

#include <cmath>

namespace trireme::records {

std::string describe(const Evaluation& e) {
    std::string text = fmt::format("loss {:.4f}", e.loss);
    if (e.has_perplexity) text += fmt::format("  perplexity {:.2f}", e.compute_perplexity());
    if (e.accuracy) text += fmt::format("  accuracy {:.1f} %", 100 * *e.accuracy);
    if (e.exact_match) text += fmt::format("  exact match {:.1f} %", 100 * *e.exact_match);
    if (e.f1) text += fmt::format("  F1 {:.1f} %", 100 * *e.f1);
    return text;
}

double Evaluation::compute_perplexity() const { return std::exp(loss); }

}  // namespace trireme::records
