// Chooses what the passes of a step recompute, and how much optimizer state is offloaded, so that every rank
// stays within its memory.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "trireme/plan/recompute.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/step_buffers.hpp"

namespace trireme::policy {

// The bytes of the buffers of a micro-batch in a stage, on one rank.
struct PassBytes {
    std::size_t stash = 0;
    std::array<std::size_t, 4> workspaces = {};  // by schedule::Op: forward and the backward passes
};

// One way to execute the passes of a micro-batch in a stage.
struct PassOption {
    std::vector<plan::Recompute> levels;  // per block of the stage
    // The time by which the passes take longer than with the first option.
    schedule::StageCost extra{.forward = 0, .backward_input = 0, .backward_weight = 0};
    std::vector<PassBytes> bytes;  // per rank of the team
};

using PassKey = std::pair<int, int>;  // stage and micro-batch

// A team with at least one rank that would exceed its memory if all passes were executed by their first
// options.
struct TeamOptions {
    int team = 0;
    std::vector<schedule::BufferUse> uses;              // the buffers of the team in a step
    std::map<PassKey, std::vector<PassOption>> passes;  // the first option of a pass takes the least time
    // Per rank of the team and micro-batch: bytes of an activation or a gradient at the border of a stage.
    std::vector<std::vector<std::size_t>> row_bytes;
    std::vector<std::size_t> max_bytes;  // per rank of the team: limit of the bytes of all buffers
    // Per rank of the team: bytes by which offloaded optimizer state may raise this limit; may be empty.
    std::vector<std::size_t> offloadable_bytes = {};
    double offload_time_per_byte = 0;  // for each direction, in the unit of the costs
};

// The index of the chosen option of each pass.
using PassChoices = std::map<PassKey, std::size_t>;

struct StepChoices {
    std::vector<PassChoices> teams;
    double offload_wait = 0;  // by which waits for optimizer state lengthen the step
};

// Chooses one option per pass of each team, such that every rank stays within its limit during the whole step,
// and that the step takes little time. Each rank offloads what its buffers then need beyond the limit. Returns
// nothing if a rank exceeds its limit with all choices that were tried. `costs` has the costs of the first
// options, by stage and micro-batch.
//
// For several amounts of offloaded state, options are chosen one after the other, each for the moment with the
// largest excess, and with the least time per byte. The team takes the fastest result. If the step has few
// options, a search through all choices, which ends after a constant number of trials, then looks for a shorter
// step. At the end, every pass takes the fastest option with which its team still fits.
std::optional<StepChoices> choose_recomputation(const std::vector<TeamOptions>& teams,
                                                const std::vector<std::vector<schedule::StageCost>>& costs,
                                                const std::vector<bool>& empty_microbatches,
                                                schedule::StepClock& clock);

}  // namespace trireme::policy
