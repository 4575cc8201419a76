#include "train/divergence.hpp"

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

constexpr int most_skipped_in_a_row = 20;

}  // namespace

std::optional<std::string> Divergence::complaint_about(const StepOutcome& outcome) {
    skipped_in_a_row_ = outcome.is_skipped ? skipped_in_a_row_ + 1 : 0;
    const int most = on_nan_ == OnNan::stop ? 1 : most_skipped_in_a_row;
    if (skipped_in_a_row_ < most) return std::nullopt;
    return cat("step ", outcome.step + 1, " has loss ", outcome.loss, " and gradient norm ",
               outcome.gradient_norm,
               most == 1 ? "; lower --lr, or leave such steps out with --on-nan skip"
                         : cat(", as had the ", most - 1, " steps before it; lower --lr"));
}

}  // namespace trireme
