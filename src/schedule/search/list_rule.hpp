// The rules by which teams choose their next instruction: see ListScheduler.
#pragma once

#include <cstdint>
#include <vector>

namespace trireme::schedule {

// The order in which a free team prefers the instructions that it can execute. f: a forward, i: the input half
// of a backward (or an unsplit backward), w: a weight half.
enum class Preference : std::uint8_t { i_f_w, f_i_w, w_f_i };

struct TeamRule {
    Preference preference = Preference::i_f_w;
    int max_activations = 1;  // maximum number of activations in the stash, summed over the team's stages
    // A weight half is delayed if the team's next input arrives within this fraction of the duration of the
    // weight half. 0: never.
    double delay_fraction = 0;
    bool splits_no_backward = false;
};

// The rules of all teams. If forwards of several stages are possible, a team prefers the last stage.
struct ListRule {
    std::vector<TeamRule> teams;  // one entry per team
    // If backwards of several stages are possible, a team prefers the last stage (true) or the first one
    // (false). A backward in the first stage of a team is the team's last work on a micro-batch.
    bool prefers_last_backward = true;
};

}  // namespace trireme::schedule
