// Settings of the rule that changes the number of frozen blocks during a run.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trireme/base/named_values.hpp"

namespace trireme::config {

// Rule for the number of frozen blocks: see policy/freeze.hpp.
enum class FreezeRule : std::uint8_t { off, schedule, gradient };
inline constexpr NamedValue<FreezeRule> freeze_rules[] = {
    {"off", FreezeRule::off, "the number stays as --frozen says"},
    {"schedule", FreezeRule::schedule,
     "after T periods, ceil(L (1 - (1 - alpha)^T)) of L blocks are frozen (PipeTransformer)"},
    {"gradient", FreezeRule::gradient,
     "each period freezes the blocks up to the one with the smallest gradient norm: from f frozen blocks up to "
     "ceil(f + alpha (L - f)), and not more than `schedule`"}};

struct FreezeConfig {
    FreezeRule rule = FreezeRule::off;
    double alpha = 0.333;   // fraction of the trained blocks that may be frozen after a period
    std::size_t every = 0;  // steps of a period; 0: a period is an epoch
    bool thaws = false;     // blocks thaw if the validation loss rises
};

}  // namespace trireme::config
