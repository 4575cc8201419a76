#include "schedule/check/validation_rules.hpp"

#include <algorithm>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::schedule {
namespace {

using RuleViolation = std::optional<std::string>;

// The progress of a team. A team counts the REDUCEs, STEPs and VALIDATEs that it has done for each of its
// stages. The first five members are the minima and maxima of these counts over the stages.
struct Progress {
    int min_reduces = 0;
    int min_updates = 0;
    int max_updates = 0;
    int min_validations = 0;
    int max_validations = 0;
    int stage_to_update = 0;    // the first stage with min_updates
    int stage_to_validate = 0;  // the first stage with min_validations

    // True if the team has done the STEP of the current step for some of its stages, but not for all.
    bool is_within_updates() const { return min_updates < max_updates; }
    // True if the team has done the VALIDATE of the current step for some of its stages, but not for all.
    bool is_within_validations() const { return min_validations < max_validations; }
    // True after the STEPs of a step and before its last VALIDATE.
    bool may_roll_back() const { return min_updates > min_validations; }
};

// The team must hold a stage.
Progress find_progress(const InstructionContext& context) {
    const std::vector<StageRecord>& records = context.earlier_work.stage_records(context.team);
    const auto [min_update, max_update] = std::ranges::minmax_element(records, {}, &StageRecord::updates);
    const auto [min_validate, max_validate] =
        std::ranges::minmax_element(records, {}, &StageRecord::validations);
    return {.min_reduces = std::ranges::min_element(records, {}, &StageRecord::reduces)->reduces,
            .min_updates = min_update->updates,
            .max_updates = max_update->updates,
            .min_validations = min_validate->validations,
            .max_validations = max_validate->validations,
            .stage_to_update = min_update->stage,
            .stage_to_validate = min_validate->stage};
}

std::string describe_position(const InstructionContext& context) {
    return describe_position(context.programs, context.team, context.position);
}

bool is_forward_op(Op op) { return op == Op::forward || op == Op::send_forward || op == Op::receive_forward; }

// Returns the step to which the instruction belongs, counted from 0. The step of a REDUCE is the number of
// earlier REDUCEs of its stage. Must not be called for a STEP or a VALIDATE.
int find_step(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    return has_microbatch(op) ? context.shape.find_step(microbatch)
                              : context.earlier_work.find_record(context.team, stage).reduces;
}

// Checks an instruction between the STEPs of a step, or between the VALIDATEs of a step. The instruction must
// be another of these STEPs or VALIDATEs, for a stage that has none in this step yet.
RuleViolation find_separated_collective(const InstructionContext& context, const Progress& progress) {
    const Op op = progress.is_within_updates() ? Op::step : Op::validate;
    const int stage = progress.is_within_updates() ? progress.stage_to_update : progress.stage_to_validate;
    const StageRecord& record = context.earlier_work.find_record(context.team, context.instruction().stage);
    const int done_count = op == Op::step ? record.updates : record.validations;
    const int min_count = op == Op::step ? progress.min_updates : progress.min_validations;
    if (context.instruction().op == op && done_count == min_count) return std::nullopt;
    return cat(
        describe_position(context), ", comes before ", to_string(Instruction{op, stage}),
        " of the same step; in programs with VALIDATEs, the STEPs of a step must be adjacent, and so must its "
        "VALIDATEs");
}

// Checks an instruction after the STEPs of a step and before its VALIDATEs. Because steps are numbered from 0,
// the next step has the number min_updates.
RuleViolation find_unrepeatable_work(const InstructionContext& context, const Progress& progress) {
    const Op op = context.instruction().op;
    if (op == Op::validate) return std::nullopt;
    if (is_forward_op(op) && find_step(context) == progress.min_updates) return std::nullopt;
    return cat(describe_position(context),
               ", stands between an update and its validation, where only forward passes of the next "
               "step and their messages are allowed; put it after ",
               to_string(Instruction{Op::validate, progress.stage_to_validate}));
}

// Checks an instruction at a position where all earlier updates of the team are validated. The instruction must
// belong to the step with the number min_updates.
RuleViolation find_work_of_other_step(const InstructionContext& context, const Progress& progress) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    if (op == Op::step && progress.min_reduces <= progress.min_updates) {
        return cat(describe_position(context), ", comes too early; put the REDUCEs of all stages of team ",
                   context.team, " before it");
    }
    if (op == Op::step || op == Op::validate || find_step(context) == progress.min_updates) return std::nullopt;
    return cat(
        describe_position(context), ", belongs to step ", find_step(context), " (counted from 0), but follows ",
        format_count(static_cast<std::uint64_t>(progress.min_updates), "update"),
        "; apart from forward passes that run ahead, the work of a step must stand between the VALIDATEs "
        "of the previous step and its own STEPs");
}

RuleViolation find_old_weights(const InstructionContext& context) {
    if (context.instruction().age == 0) return std::nullopt;
    return cat(describe_position(context),
               ", uses older weights; in programs with VALIDATEs, all passes must use the newest weights");
}

}  // namespace

RuleViolation find_broken_validation_rule(const InstructionContext& context) {
    if (!context.shape.has_speculative_updates) {
        if (context.instruction().op != Op::validate) return std::nullopt;
        return cat(describe_position(context),
                   ", validates an update, but these programs have no speculative updates");
    }
    if (RuleViolation old_weights = find_old_weights(context)) return old_weights;
    const Progress progress = find_progress(context);
    if (progress.is_within_updates() || progress.is_within_validations())
        return find_separated_collective(context, progress);
    return progress.may_roll_back() ? find_unrepeatable_work(context, progress)
                                    : find_work_of_other_step(context, progress);
}

}  // namespace trireme::schedule
