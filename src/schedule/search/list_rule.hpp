// By which rule teams choose among what they could do next.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme::schedule {

// What comes first: F a forward, I the input half of a backward (or a whole one), W the weight half.
enum class Preference : std::uint8_t { i_f_w, f_i_w, w_f_i };

struct TeamRule {
    Preference preference = Preference::i_f_w;
    int most_kept = 1;      // activations, over its stages: with so many it makes no forward
    double patience = 0;    // a weight half is put off where other work comes within this part of its time
    bool is_whole = false;  // backwards are not divided
};

// Of a team's stages the last comes first in forwards.
struct ListRule {
    std::vector<TeamRule> teams;
    bool last_backward_first = true;  // likewise in backwards; otherwise the first, which ends a micro-batch
};

}  // namespace trireme::schedule
