// The rules by which teams choose their next instruction: see ListScheduler.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme::schedule {

// The order in which a free team prefers possible instructions. f: a forward, i: the input half of a backward
// (or an unsplit backward), w: a weight half.
enum class Preference : std::uint8_t { i_f_w, f_i_w, w_f_i };

struct TeamRule {
    Preference preference = Preference::i_f_w;
    int max_activations = 1;  // forwards stop at this number of activations, summed over the team's stages
    // A weight half waits for an input that arrives within this fraction of the duration of the weight half.
    double delay_fraction = 0;
    bool unsplit_backwards = false;  // backwards are not split
};

// The rules of all teams. Among forwards a team prefers the last of its stages.
struct ListRule {
    std::vector<TeamRule> teams;
    // Among backwards a team prefers the last of its stages (true) or the first one, which completes a
    // micro-batch.
    bool prefers_last_backward = true;
};

}  // namespace trireme::schedule
