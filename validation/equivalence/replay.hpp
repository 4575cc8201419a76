// What a training that keeps work in flight must come to: its formula, worked out on one rank without a
// schedule.
//
//   W(t+1) = update(W(t), gradient of step t at weights of which stage s lacks the last delays[s] updates)
//
// From one evaluation to the next steps count anew: no weights are older than those before the first of them.
#pragma once

#include <cstddef>
#include <vector>

#include "equivalence/figures.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::equivalence {

struct ReplayRule {
    std::vector<std::size_t> delays;  // per stage: updates that its weights lack
    bool clips_stages_alone = false;  // each by its own norm; otherwise all by that of all
};

struct Replayed {
    Figures figures;
    std::size_t updates = 0;  // of the whole model, or of stages where each is clipped alone
    std::size_t clipped = 0;  // of these
};

// The first weights are random. `setup` may be for any number of ranks: of its plan only the micro-batches of a
// step and the layers of each stage matter.
Replayed replay(const setup::Setup& setup, const ReplayRule& rule);

}  // namespace trireme::equivalence
