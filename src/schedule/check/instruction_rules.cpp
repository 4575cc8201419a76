#include "schedule/check/instruction_rules.hpp"

#include <algorithm>

#include "schedule/check/validation_rules.hpp"
#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

using Broken = std::optional<std::string>;

// Instructions of which one is needed; empty if none is.
using Alternatives = std::vector<Instruction>;

std::string describe_position(const Case& at) { return describe_position(at.programs, at.team, at.position); }

bool is_of_training(Op op) { return op != Op::forward && op != Op::send_forward && op != Op::receive_forward; }

Broken unknown_number(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    if (stage < 0 || stage >= at.shape.stages()) {
        return cat(describe_position(at), ", names stage ", stage, "; the last is ", at.shape.stages() - 1);
    }
    if (!has_microbatch(op) && microbatch != no_microbatch) {
        return cat(describe_position(at), ", names micro-batch ", microbatch, "; it is for all of them");
    }
    if (has_microbatch(op) && (microbatch < 0 || microbatch >= at.shape.all_microbatches())) {
        return cat(describe_position(at), ", names micro-batch ", microbatch, "; the last is ",
                   at.shape.all_microbatches() - 1);
    }
    if (age < 0 || (age > 0 && !is_compute(op))) {
        return cat(describe_position(at), ", has age ", age,
                   "; ages count updates back, of F, B, I and W alone");
    }
    return std::nullopt;
}

Broken training_in_forward_only(const Case& at) {
    if (at.shape.is_training || !is_of_training(at.instruction().op)) return std::nullopt;
    return cat(describe_position(at), ", is of training; these programs are forward only");
}

Broken wrong_team(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    if (!has_microbatch(op)) {
        if (at.before.holds(at.team, stage)) return std::nullopt;
        return cat(describe_position(at), ", is for the holders of stage ", stage, "; team ", at.team,
                   " is none");
    }
    const int executor = at.shape.executor_of(stage, microbatch);
    if (executor == at.team) return std::nullopt;
    return cat(describe_position(at), ", is for team ", executor, ", which executes micro-batch ", microbatch,
               " in stage ", stage);
}

Broken message_to_nobody(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    if (is_compute(op) || !has_microbatch(op)) return std::nullopt;
    const bool is_above = op == Op::send_forward || op == Op::receive_backward;
    if (stage == (is_above ? at.shape.stages() - 1 : 0)) {
        return cat(describe_position(at), ", has no other end: stage ", stage, " is the ",
                   is_above ? "last" : "first");
    }
    if (peer_of(at.instruction(), at.shape) != at.team) return std::nullopt;
    return cat(describe_position(at), ", is no message: team ", at.team, " executes micro-batch ", microbatch,
               " in stage ", stage + (is_above ? 1 : -1), " too");
}

bool is_same_work(const Instruction& one, const Instruction& other) {
    const auto is_part = [](Op op) { return op == Op::backward_input || op == Op::backward_weight; };
    const bool is_whole_and_part =
        (one.op == Op::backward && is_part(other.op)) || (other.op == Op::backward && is_part(one.op));
    return one.stage == other.stage && one.microbatch == other.microbatch &&
           (one.op == other.op || is_whole_and_part);
}

// Returns how many REDUCEs, STEPs or VALIDATEs of the stage the team has done.
int times_done(const Case& at, Op op, int stage) {
    const HeldStage& held = at.before.held(at.team, stage);
    if (op == Op::reduce) return held.reduces;
    return op == Op::step ? held.updates : held.validations;
}

Broken repetition(const Case& at) {
    const Instruction& instruction = at.instruction();
    const auto& [op, stage, microbatch, age] = instruction;
    const bool is_new =
        has_microbatch(op) ? !at.before.has_part_of(instruction) : times_done(at, op, stage) < at.shape.steps;
    if (is_new) return std::nullopt;
    const auto first = std::find_if(at.program().begin(), at.program().end(),
                                    [&](const Instruction& other) { return is_same_work(instruction, other); });
    return cat(describe_position(at), ", repeats ", to_string(*first), ", its ",
               ordinal(static_cast<std::size_t>(first - at.program().begin()) + 1));
}

// Compares everything except the age of the weights.
bool is_alike(const Instruction& one, const Instruction& other) {
    return one.op == other.op && one.stage == other.stage && one.microbatch == other.microbatch;
}

Alternatives needed_by_forward(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    if (stage == 0) return {};
    if (at.shape.executor_of(stage - 1, microbatch) == at.team) return {{Op::forward, stage - 1, microbatch}};
    return {{Op::receive_forward, stage, microbatch}};
}

Alternatives needed_by_backward(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    const Instruction forward = {Op::forward, stage, microbatch};
    if (!at.before.has_part_of(forward)) return {forward};
    if (stage == at.shape.stages() - 1) return {};
    if (at.shape.executor_of(stage + 1, microbatch) != at.team) {
        return {{Op::receive_backward, stage, microbatch}};
    }
    return {{Op::backward, stage + 1, microbatch}, {Op::backward_input, stage + 1, microbatch}};
}

// Returns the team's first backward work in the stage that is not done, for the step of the REDUCE.
Alternatives needed_by_reduce(const Case& at) {
    const int stage = at.instruction().stage;
    const HeldStage& held = at.before.held(at.team, stage);
    const int first = held.reduces * at.shape.microbatches;
    for (int microbatch = first; microbatch < first + at.shape.microbatches; ++microbatch) {
        const Instruction weight = {Op::backward_weight, stage, microbatch};
        if (at.shape.executor_of(stage, microbatch) == at.team && !at.before.has_part_of(weight)) {
            return {{Op::backward, stage, microbatch}, weight};
        }
    }
    return {};
}

// Returns the instructions of which one must come before and none has.
Alternatives missing_before(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    Alternatives needed;
    switch (op) {
        case Op::forward:
            needed = needed_by_forward(at);
            break;
        case Op::backward:
        case Op::backward_input:
            needed = needed_by_backward(at);
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
            return {};
        case Op::reduce:
            return needed_by_reduce(at);
        case Op::step:
            if (at.before.held(at.team, stage).reduces > at.before.held(at.team, stage).updates) return {};
            return {{Op::reduce, stage}};
        case Op::validate:
            if (at.before.held(at.team, stage).updates > at.before.held(at.team, stage).validations) return {};
            return {{Op::step, stage}};
    }
    const bool is_there = std::any_of(needed.begin(), needed.end(),
                                      [&](const Instruction& one) { return at.before.has_part_of(one); });
    return is_there ? Alternatives{} : needed;
}

Broken too_early(const Case& at) {
    const Alternatives missing = missing_before(at);
    if (missing.empty()) return std::nullopt;
    std::string names = to_string(missing.front());
    if (missing.size() > 1) names += " or " + to_string(missing.back());
    const auto from = at.program().begin() + static_cast<std::ptrdiff_t>(at.position);
    const auto later = std::find_first_of(from, at.program().end(), missing.begin(), missing.end(), is_alike);
    if (later == at.program().end()) {
        return cat(describe_position(at), ", needs ", names, " before it, which its program does not have");
    }
    return cat(describe_position(at), ", needs ", names, " before it; ", to_string(*later), " is the ",
               ordinal(static_cast<std::size_t>(later - at.program().begin()) + 1));
}

// If a team has two neighbouring stages, the later one reads the output of the earlier one until its last half.
Broken too_early_to_give_back(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    const bool gives_back = op == Op::backward || op == Op::backward_weight;
    if (!gives_back || stage + 1 == at.shape.stages()) return std::nullopt;
    const Instruction reader = {Op::backward_weight, stage + 1, microbatch};
    if (at.shape.executor_of(stage + 1, microbatch) != at.team || at.before.has_part_of(reader)) {
        return std::nullopt;
    }
    return cat(describe_position(at), ", gives back activations that ", to_string(reader),
               " has still to read; put ", to_string(reader), " before it");
}

// A backward pass with other weights than the forward pass does not compute a gradient.
Broken other_weights_than_forward(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    if (!is_compute(op) || op == Op::forward) return std::nullopt;
    const int own = at.before.version_of(at.team, at.instruction());
    const int of_forward = at.before.version_used(stage, microbatch);
    if (own == of_forward) return std::nullopt;
    return cat(describe_position(at), ", uses the weights after update ", own, " of stage ", stage, ", and ",
               to_string({Op::forward, stage, microbatch}), " used those after update ", of_forward);
}

// If updates wait for all stages, the stages compute the gradient of one model and must use the same weights.
Broken other_weights_than_other_stages(const Case& at) {
    const auto [op, stage, microbatch, age] = at.instruction();
    if (op != Op::forward || at.shape.updates_alone) return std::nullopt;
    const int own = at.before.version_of(at.team, at.instruction());
    for (int other = 0; other < at.shape.stages(); ++other) {
        if (!at.before.has_part_of({Op::forward, other, microbatch})) continue;
        const int version = at.before.version_used(other, microbatch);
        if (version == own) continue;
        return cat(describe_position(at), ", uses the weights after update ", own, ", and ",
                   to_string({Op::forward, other, microbatch}), " those after update ", version);
    }
    return std::nullopt;
}

Broken too_many_activations(const Case& at) {
    if (at.instruction().op != Op::forward || at.shape.most_activations.empty()) return std::nullopt;
    const int kept = at.before.kept(at.team);
    const int most = at.shape.most_activations[static_cast<std::size_t>(at.team)];
    if (kept < most) return std::nullopt;
    return cat(describe_position(at), ", would make it keep ", kept + 1,
               " micro-batches, counted over its stages; it has memory for ", most);
}

}  // namespace

std::optional<std::string> broken_rule(const Case& at) {
    for (const auto rule :
         {unknown_number, training_in_forward_only, wrong_team, message_to_nobody, repetition,
          broken_validation_rule, too_early, too_early_to_give_back, other_weights_than_forward,
          other_weights_than_other_stages, too_many_activations}) {
        if (Broken broken = rule(at)) return broken;
    }
    return std::nullopt;
}

}  // namespace trireme::schedule
