#include "schedule/check/instruction_rules.hpp"

#include <algorithm>

#include "schedule/check/validation_rules.hpp"
#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::schedule {
namespace {

// A sentence that names the instruction and the rule that the instruction breaks; empty if it breaks no rule.
using RuleViolation = std::optional<std::string>;

// Instructions of which at least one must precede a given instruction; empty if the given instruction needs no
// earlier one.
using Alternatives = std::vector<Instruction>;

std::string describe_position(const InstructionContext& context) {
    return describe_position(context.programs, context.team, context.position);
}

std::string format_updates(int updates) { return format_count(static_cast<std::uint64_t>(updates), "update"); }

bool is_training_op(Op op) { return op != Op::forward && op != Op::send_forward && op != Op::receive_forward; }

RuleViolation find_unknown_number(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    if (stage < 0 || stage >= context.shape.stages()) {
        return cat(describe_position(context), ", names stage ", stage, ", but the last stage is ",
                   context.shape.stages() - 1);
    }
    if (!has_microbatch(op) && microbatch != no_microbatch) {
        return cat(describe_position(context), ", names micro-batch ", microbatch,
                   ", but applies to all micro-batches");
    }
    if (has_microbatch(op) && (microbatch < 0 || microbatch >= context.shape.count_microbatches())) {
        return cat(describe_position(context), ", names micro-batch ", microbatch,
                   ", but the last micro-batch is ", context.shape.count_microbatches() - 1);
    }
    if (age < 0 || (age > 0 && !is_compute(op))) {
        return cat(describe_position(context), ", has age ", age,
                   "; only F, B, I and W have an age, which is 0 or a number of updates");
    }
    return std::nullopt;
}

RuleViolation find_wrong_clock(const InstructionContext& context) {
    const int mhz = context.instruction().mhz;
    if (mhz > 0 && context.instruction() == Instruction{.op = Op::set_clock, .mhz = mhz}) return std::nullopt;
    return cat(describe_position(context), ", sets a clock of ", mhz, " MHz; a clock must be above 0 MHz");
}

RuleViolation find_training_of_untrained_stage(const InstructionContext& context) {
    const int stage = context.instruction().stage;
    if (context.shape.trains(stage) || !is_training_op(context.instruction().op)) return std::nullopt;
    if (!context.shape.is_training)
        return cat(describe_position(context), ", belongs to training, but these programs are forward-only");
    return cat(describe_position(context), ", belongs to training, but stage ", stage, " is frozen");
}

RuleViolation find_wrong_team(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    if (!has_microbatch(op)) {
        if (context.earlier_work.is_holder(context.team, stage)) return std::nullopt;
        return cat(describe_position(context), ", is for teams that hold stage ", stage, ", but team ",
                   context.team, " does not");
    }
    const int executor = context.shape.find_executor(stage, microbatch);
    if (executor == context.team) return std::nullopt;
    return cat(describe_position(context), ", is for team ", executor, ", which executes micro-batch ",
               microbatch, " in stage ", stage);
}

RuleViolation find_message_without_peer(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    if (is_compute(op) || !has_microbatch(op)) return std::nullopt;
    const bool is_peer_next_stage = op == Op::send_forward || op == Op::receive_backward;
    if (stage == (is_peer_next_stage ? context.shape.stages() - 1 : 0)) {
        return cat(describe_position(context), ", has no peer, because stage ", stage, " is the ",
                   is_peer_next_stage ? "last" : "first", " stage");
    }
    if (op == Op::send_backward && stage == context.shape.first_trained_stage)
        return cat(describe_position(context), ", has no peer, because stage ", stage - 1, " is frozen");
    if (find_peer(context.instruction(), context.shape) != context.team) return std::nullopt;
    return cat(describe_position(context), ", is not needed, because team ", context.team,
               " also executes micro-batch ", microbatch, " in stage ", stage + (is_peer_next_stage ? 1 : -1));
}

// True if the instructions are equal except for the age, or if one is a backward and the other is one of its
// halves.
bool is_same_work(const Instruction& one, const Instruction& other) {
    const auto is_half = [](Op op) { return op == Op::backward_input || op == Op::backward_weight; };
    const bool is_whole_and_half =
        (one.op == Op::backward && is_half(other.op)) || (other.op == Op::backward && is_half(one.op));
    return one.stage == other.stage && one.microbatch == other.microbatch &&
           (one.op == other.op || is_whole_and_half);
}

// Returns the number of instructions `op` for `stage` that precede the given instruction in its program. `op`
// is reduce, step or validate.
int count_done(const InstructionContext& context, Op op, int stage) {
    const StageRecord& record = context.earlier_work.find_record(context.team, stage);
    if (op == Op::reduce) return record.reduces;
    return op == Op::step ? record.updates : record.validations;
}

RuleViolation find_repetition(const InstructionContext& context) {
    const Instruction& instruction = context.instruction();
    const auto& [op, stage, microbatch, age, mhz] = instruction;
    const bool is_new = has_microbatch(op) ? !context.earlier_work.has_done_any_part(instruction)
                                           : count_done(context, op, stage) < context.shape.steps;
    if (is_new) return std::nullopt;
    const auto first = std::find_if(context.program().begin(), context.program().end(),
                                    [&](const Instruction& other) { return is_same_work(instruction, other); });
    return cat(describe_position(context), ", repeats ", to_string(*first), ", its ",
               format_ordinal(static_cast<std::size_t>(first - context.program().begin()) + 1), " instruction");
}

// True if the instructions have the same operation, stage and micro-batch.
bool is_equal_except_age(const Instruction& one, const Instruction& other) {
    return one.op == other.op && one.stage == other.stage && one.microbatch == other.microbatch;
}

Alternatives find_forward_inputs(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    if (stage == 0) return {};
    if (context.shape.find_executor(stage - 1, microbatch) == context.team)
        return {{Op::forward, stage - 1, microbatch}};
    return {{Op::receive_forward, stage, microbatch}};
}

// Returns the forward of the same stage and micro-batch if the team has not done it. Otherwise returns the
// instructions of which one must provide the gradient; empty for the last stage.
Alternatives find_backward_inputs(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    const Instruction forward = {Op::forward, stage, microbatch};
    if (!context.earlier_work.has_done_any_part(forward)) return {forward};
    if (stage == context.shape.stages() - 1) return {};
    if (context.shape.find_executor(stage + 1, microbatch) != context.team) {
        return {{Op::receive_backward, stage, microbatch}};
    }
    return {{Op::backward, stage + 1, microbatch}, {Op::backward_input, stage + 1, microbatch}};
}

// Searches the step of the REDUCE for the first micro-batch whose weight gradients the team still has to
// compute. Returns the backward and the weight half of this micro-batch, of which the REDUCE needs one. Returns
// an empty list if the team has computed all weight gradients of the step.
Alternatives find_reduce_inputs(const InstructionContext& context) {
    const int stage = context.instruction().stage;
    const StageRecord& record = context.earlier_work.find_record(context.team, stage);
    const int first = record.reduces * context.shape.microbatches;
    for (int microbatch = first; microbatch < first + context.shape.microbatches; ++microbatch) {
        const Instruction weight = {Op::backward_weight, stage, microbatch};
        if (context.shape.find_executor(stage, microbatch) == context.team &&
            !context.earlier_work.has_done_any_part(weight)) {
            return {{Op::backward, stage, microbatch}, weight};
        }
    }
    return {};
}

// Returns the alternatives of which one must precede the instruction. Empty if one of the alternatives precedes
// it, or if the instruction needs no earlier one.
Alternatives find_missing_alternatives(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    Alternatives needed;
    switch (op) {
        case Op::forward:
            needed = find_forward_inputs(context);
            break;
        case Op::backward:
        case Op::backward_input:
            needed = find_backward_inputs(context);
            break;
        case Op::backward_weight:
            needed = {{Op::backward_input, stage, microbatch}};
            break;
        case Op::send_forward:
            needed = {{Op::forward, stage, microbatch}};
            break;
        case Op::send_backward:
            needed = {{Op::backward, stage, microbatch}, {Op::backward_input, stage, microbatch}};
            break;
        case Op::receive_forward:
        case Op::receive_backward:
        case Op::set_clock:
            return {};  // a receive and a CLOCK need no earlier instruction of their team
        case Op::reduce:
            return find_reduce_inputs(context);
        case Op::step:
            if (context.earlier_work.find_record(context.team, stage).reduces >
                context.earlier_work.find_record(context.team, stage).updates)
                return {};
            return {{Op::reduce, stage}};
        case Op::validate:
            if (context.earlier_work.find_record(context.team, stage).updates >
                context.earlier_work.find_record(context.team, stage).validations)
                return {};
            return {{Op::step, stage}};
    }
    const bool is_satisfied = std::any_of(needed.begin(), needed.end(), [&](const Instruction& alternative) {
        return context.earlier_work.has_done_any_part(alternative);
    });
    return is_satisfied ? Alternatives{} : needed;
}

RuleViolation find_missing_input(const InstructionContext& context) {
    const Alternatives missing = find_missing_alternatives(context);
    if (missing.empty()) return std::nullopt;
    std::string names = to_string(missing.front());
    if (missing.size() > 1) names += " or " + to_string(missing.back());
    const auto begin = context.program().begin() + static_cast<std::ptrdiff_t>(context.position);
    const auto later_instruction =
        std::find_first_of(begin, context.program().end(), missing.begin(), missing.end(), is_equal_except_age);
    if (later_instruction == context.program().end()) {
        return cat(describe_position(context), ", needs ", names, " before it, but its program has no ", names);
    }
    return cat(describe_position(context), ", needs ", names, " before it, but ", to_string(*later_instruction),
               " is the ",
               format_ordinal(static_cast<std::size_t>(later_instruction - context.program().begin()) + 1),
               " instruction");
}

// If a team executes a micro-batch in two neighbouring stages, the backward (or weight half) of the later stage
// reads the output of the earlier stage. The backward (or weight half) of the earlier stage releases this
// output, so it must come after the backward (or weight half) of the later stage.
RuleViolation find_early_release(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    const bool releases_activations = op == Op::backward || op == Op::backward_weight;
    if (!releases_activations || stage + 1 == context.shape.stages()) return std::nullopt;
    const Instruction reader = {Op::backward_weight, stage + 1, microbatch};
    if (context.shape.find_executor(stage + 1, microbatch) != context.team ||
        context.earlier_work.has_done_any_part(reader)) {
        return std::nullopt;
    }
    return cat(describe_position(context), ", frees activations that ", to_string(reader),
               " still has to read; put ", to_string(reader), " before ", to_string(context.instruction()));
}

// A backward must use the weights of its forward: otherwise its result is not a gradient.
RuleViolation find_other_weights_than_forward(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    if (!is_compute(op) || op == Op::forward) return std::nullopt;
    const int used_version = context.earlier_work.find_version(context.team, context.instruction());
    const int forward_version = context.earlier_work.forward_version(stage, microbatch);
    if (used_version == forward_version) return std::nullopt;
    return cat(describe_position(context), ", uses the weights of stage ", stage, " after ",
               format_updates(used_version), ", but ", to_string({Op::forward, stage, microbatch}),
               " uses them after ", format_updates(forward_version), "; both passes must use the same weights");
}

// If updates wait for the gradients of all stages, all forwards of a micro-batch in trained stages must use
// weights after the same number of updates.
RuleViolation find_other_weights_than_other_stages(const InstructionContext& context) {
    const auto [op, stage, microbatch, age, mhz] = context.instruction();
    const int first_trained_stage = context.shape.first_trained_stage;
    if (op != Op::forward || context.shape.updates_stages_independently || stage < first_trained_stage)
        return std::nullopt;
    const int used_version = context.earlier_work.find_version(context.team, context.instruction());
    for (int other_stage = first_trained_stage; other_stage < context.shape.stages(); ++other_stage) {
        const Instruction other_forward = {Op::forward, other_stage, microbatch};
        if (!context.earlier_work.has_done_any_part(other_forward)) continue;
        const int other_version = context.earlier_work.forward_version(other_stage, microbatch);
        if (other_version == used_version) continue;
        return cat(describe_position(context), ", uses weights after ", format_updates(used_version), ", but ",
                   to_string(other_forward), " uses weights after ", format_updates(other_version),
                   "; all stages must use equally old weights for a micro-batch");
    }
    return std::nullopt;
}

RuleViolation find_excess_activation(const InstructionContext& context) {
    if (context.instruction().op != Op::forward || context.shape.max_activations.empty()) return std::nullopt;
    const int stashed_activations = context.earlier_work.stashed_activations(context.team);
    const int max_activations = context.shape.max_activations[static_cast<std::size_t>(context.team)];
    if (stashed_activations < max_activations) return std::nullopt;
    return cat(describe_position(context), ", would raise the in-flight micro-batches of the team to ",
               stashed_activations + 1, ", summed over its stages, but the team has memory for ",
               max_activations);
}

}  // namespace

std::optional<std::string> find_broken_rule(const InstructionContext& context) {
    if (context.instruction().op == Op::set_clock) return find_wrong_clock(context);
    for (const auto rule :
         {find_unknown_number, find_training_of_untrained_stage, find_wrong_team, find_message_without_peer,
          find_repetition, find_broken_validation_rule, find_missing_input, find_early_release,
          find_other_weights_than_forward, find_other_weights_than_other_stages, find_excess_activation}) {
        if (RuleViolation violation = rule(context)) return violation;
    }
    return std::nullopt;
}

}  // namespace trireme::schedule
