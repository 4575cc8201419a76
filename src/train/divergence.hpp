// When a run has to end because its numbers are none.
#pragma once

#include <optional>
#include <string>

#include "train/step_outcome.hpp"
#include "trireme/train/config.hpp"

namespace trireme {

class Divergence {
public:
    explicit Divergence(OnNan on_nan) : on_nan_(on_nan) {}

    // Of the steps one after another: why there can be no next one, and what to do; nothing: there can.
    std::optional<std::string> complaint_about(const StepOutcome& outcome);

private:
    OnNan on_nan_;
    int skipped_in_a_row_ = 0;
};

}  // namespace trireme
