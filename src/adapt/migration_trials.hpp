// Trials of migrations: matmuls offloaded to helper ranks.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/plan/observation.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::adapt {

// Compares steps with migrations and steps before the first migration.
class MigrationTrials {
public:
    // If the migrations of the current plan did not shorten the steps, returns a decision that ends them.
    // Helper ranks or links may have no time to spare. The durations are compared once after each change of the
    // migrations, and only if no rank's slowness has changed since the first migration.
    std::optional<plan::Decision> end_useless_migration(const plan::Observation& observed,
                                                        const plan::Plan& current);

    // Notes that the plan may change from `from` to `to` after `step` steps. If the change begins or changes
    // migrations without moving state, the next trial compares the coming steps with `observed`.
    void prepare(std::size_t step, const plan::Observation& observed, const plan::Plan& from,
                 const plan::Plan& to, bool moves_state);
    // Forgets the prepared trial.
    void prepare_none() { prepared_.reset(); }
    // Begins the prepared trial, if there is one, because the plan has changed after `step` steps.
    void begin(std::size_t step);

    // Returns the step after which useless migrations were ended, unless the slowness of a rank has changed
    // since then.
    std::optional<std::size_t> find_end_step(const plan::Observation& observed);

private:
    struct Trial {
        std::size_t begin_step = 0;  // step after which the first migration began
        // Seconds of a step, divided by the flops of the matmuls of all ranks, before the first migration; 0 if
        // unknown.
        double seconds_per_flop = 0;
        std::vector<double> skipped;       // per rank: skipped fraction before begin_step
        std::size_t last_change_step = 0;  // step after which the migrations last changed
        bool is_judged = false;            // true if the comparison was made after the last change
    };

    std::optional<Trial> trial_;     // of the current plan's migrations
    std::optional<Trial> prepared_;  // replaces trial_ if the plan changes as prepared
    bool is_end_proposed_ = false;   // the last call of end_useless_migration() returned a decision
    std::optional<std::size_t> end_step_;
};

}  // namespace trireme::adapt
