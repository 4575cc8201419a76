#include "schedule/check/validation_rules.hpp"

#include <algorithm>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

using Broken = std::optional<std::string>;

// The progress of a team: the least and the most advanced of its stages.
struct Progress {
    int fewest_reduces = 0;
    int fewest_updates = 0;
    int most_updates = 0;
    int fewest_validations = 0;
    int most_validations = 0;
    int stage_to_update = 0;    // a stage with the fewest updates
    int stage_to_validate = 0;  // a stage with the fewest validations

    bool is_updating() const { return fewest_updates < most_updates; }
    bool is_validating() const { return fewest_validations < most_validations; }
    // True between the STEPs of a step and its VALIDATEs.
    bool may_go_back() const { return fewest_updates > fewest_validations; }
};

Progress progress_of(const Case& at) {
    const std::vector<HeldStage>& held = at.before.held_by(at.team);
    const auto [late_update, early_update] = std::ranges::minmax_element(held, {}, &HeldStage::updates);
    const auto [late_check, early_check] = std::ranges::minmax_element(held, {}, &HeldStage::validations);
    return {.fewest_reduces = std::ranges::min_element(held, {}, &HeldStage::reduces)->reduces,
            .fewest_updates = late_update->updates,
            .most_updates = early_update->updates,
            .fewest_validations = late_check->validations,
            .most_validations = early_check->validations,
            .stage_to_update = late_update->stage,
            .stage_to_validate = late_check->stage};
}

std::string describe_position(const Case& at) { return describe_position(at.programs, at.team, at.position); }

bool is_forward(Op op) { return op == Op::forward || op == Op::send_forward || op == Op::receive_forward; }

// Returns the step of an instruction. For a REDUCE it is the number of earlier REDUCEs of its stage.
int step_of(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    return has_microbatch(op) ? at.shape.step_of(microbatch) : at.before.held(at.team, stage).reduces;
}

Broken apart(const Case& at, const Progress& progress) {
    const Op op = progress.is_updating() ? Op::step : Op::validate;
    const int stage = progress.is_updating() ? progress.stage_to_update : progress.stage_to_validate;
    const HeldStage& held = at.before.held(at.team, at.instruction().stage);
    const int done = op == Op::step ? held.updates : held.validations;
    const int fewest = op == Op::step ? progress.fewest_updates : progress.fewest_validations;
    if (at.instruction().op == op && done == fewest) return std::nullopt;
    return cat(
        describe_position(at), ", comes before ", to_string(Instruction{op, stage}),
        " of the same step; where updates are validated, those of a step stand together, and so do their "
        "VALIDATEs");
}

Broken not_to_be_done_again(const Case& at, const Progress& progress) {
    const Op op = at.instruction().op;
    if (op == Op::validate) return std::nullopt;
    if (is_forward(op) && step_of(at) == progress.fewest_updates) return std::nullopt;
    return cat(describe_position(at),
               ", follows an update that is not validated yet, where only forward passes of the next "
               "step and their messages are allowed; put it after ",
               to_string(Instruction{Op::validate, progress.stage_to_validate}));
}

Broken of_another_step(const Case& at, const Progress& progress) {
    const auto [op, stage, microbatch, age] = at.instruction();
    if (op == Op::step && progress.fewest_reduces <= progress.fewest_updates) {
        return cat(describe_position(at), ", comes before the REDUCEs of all stages of team ", at.team);
    }
    if (op == Op::step || op == Op::validate || step_of(at) == progress.fewest_updates) return std::nullopt;
    return cat(
        describe_position(at), ", is of step ", step_of(at), " and follows ", progress.fewest_updates,
        " updates; all of a step but its first forwards stands between the VALIDATEs before it and its STEPs");
}

Broken other_age(const Case& at) {
    if (at.instruction().age == 0) return std::nullopt;
    return cat(describe_position(at),
               ", uses older weights; where updates are validated all passes use the newest");
}

}  // namespace

Broken broken_validation_rule(const Case& at) {
    if (!at.shape.validates) {
        if (at.instruction().op != Op::validate) return std::nullopt;
        return cat(describe_position(at), ", validates an update, but those of these programs guess nothing");
    }
    if (Broken old = other_age(at)) return old;
    const Progress progress = progress_of(at);
    if (progress.is_updating() || progress.is_validating()) return apart(at, progress);
    return progress.may_go_back() ? not_to_be_done_again(at, progress) : of_another_step(at, progress);
}

}  // namespace trireme::schedule
