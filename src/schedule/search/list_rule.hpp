// The rules by which teams choose their next instruction: see ListScheduler.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme::schedule {

// Order of preference: F is a forward, I the input half of a backward (or a whole one), W the weight half.
enum class Preference : std::uint8_t { i_f_w, f_i_w, w_f_i };

struct TeamRule {
    Preference preference = Preference::i_f_w;
    int most_kept = 1;      // activations, summed over its stages, at which forwards stop
    double patience = 0;    // a weight half is delayed if other work arrives within this fraction of its time
    bool is_whole = false;  // backwards are not split
};

// The rule of all teams. Among forwards a team prefers its last stage.
struct ListRule {
    std::vector<TeamRule> teams;
    bool last_backward_first =
        true;  // the same among backwards; false: prefers its first, which completes a micro-batch
};

}  // namespace trireme::schedule
