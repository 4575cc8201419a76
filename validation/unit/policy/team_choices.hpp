// The memory of a team of one rank, and its waits for optimizer state, for given choices of recomputation.
#pragma once

#include <cstddef>
#include <iterator>
#include <vector>

#include "trireme/policy/recompute.hpp"
#include "trireme/schedule/offload_times.hpp"

namespace trireme::policy {

inline std::vector<std::size_t> list_bytes(const TeamOptions& team, const PassChoices& choices) {
    std::vector<std::size_t> bytes;
    for (const schedule::BufferUse& use : team.uses) {
        if (use.kind == schedule::BufferKind::rows) {
            bytes.push_back(team.row_bytes[0][static_cast<std::size_t>(use.taker.microbatch)]);
            continue;
        }
        const PassKey key{use.taker.stage, use.taker.microbatch};
        const PassBytes& pass = team.passes.at(key)[choices.at(key)].bytes[0];
        bytes.push_back(use.kind == schedule::BufferKind::stash
                            ? pass.stash
                            : pass.workspaces[static_cast<std::size_t>(use.taker.op)]);
    }
    return bytes;
}

inline std::size_t find_largest(const TeamOptions& team, const PassChoices& choices) {
    return place_buffers(team.uses, list_bytes(team, choices)).bytes;
}

// Calls `visit` with all choices of a team.
template <class Visit>
void visit_choices(const TeamOptions& team, Visit&& visit) {
    PassChoices choices;
    const auto choose = [&](auto&& self, auto pass) -> void {
        if (pass == team.passes.end()) return visit(choices);
        for (std::size_t option = 0; option < pass->second.size(); ++option) {
            choices[pass->first] = option;
            self(self, std::next(pass));
        }
    };
    choose(choose, team.passes.begin());
}

inline bool fits(const TeamOptions& team, const PassChoices& choices) {
    const std::size_t offloadable = team.offloadable_bytes.empty() ? 0 : team.offloadable_bytes[0];
    return find_largest(team, choices) <= team.max_bytes[0] + offloadable;
}

// Returns the waits of a team that offloads what its buffers need beyond its limit.
inline schedule::OffloadTimes predict_offload(const TeamOptions& team, const PassChoices& choices) {
    const std::vector<std::size_t> bytes = list_bytes(team, choices);
    return predict_offload_times(team.uses, bytes, place_buffers(team.uses, bytes), team.max_bytes[0],
                                 team.offload_time_per_byte);
}

}  // namespace trireme::policy
