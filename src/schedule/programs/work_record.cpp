#include "schedule/programs/work_record.hpp"

#include <algorithm>

namespace trireme::schedule {
namespace {

// Returns the bits of the work that an instruction does. Collectives have none; they are recorded per team.
std::uint8_t marks_of(Op op) {
    switch (op) {
        case Op::forward:
            return 1;
        case Op::backward_input:
            return 2;
        case Op::backward_weight:
            return 4;
        case Op::backward:
            return 2 | 4;
        case Op::send_forward:
            return 8;
        case Op::receive_forward:
            return 16;
        case Op::send_backward:
            return 32;
        case Op::receive_backward:
            return 64;
        case Op::reduce:
        case Op::step:
        case Op::validate:
            return 0;
    }
    return 0;
}

auto place_in(auto& stages, int stage) {
    return std::lower_bound(stages.begin(), stages.end(), stage,
                            [](const HeldStage& held, int wanted) { return held.stage < wanted; });
}

}  // namespace

WorkRecord::WorkRecord(const PipelineShape& shape)
    : microbatches_(static_cast<std::size_t>(shape.all_microbatches())),
      microbatches_of_step_(shape.microbatches),
      is_training_(shape.is_training),
      marks_(shape.holders.size() * microbatches_),
      held_(static_cast<std::size_t>(shape.teams)),
      kept_(held_.size()),
      most_kept_(held_.size()),
      most_gradients_(held_.size()),
      versions_(marks_.size()) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            held_[static_cast<std::size_t>(team)].push_back({.stage = stage});
        }
    }
}

bool WorkRecord::has_part_of(const Instruction& instruction) const {
    return (marks_[index(instruction.stage, instruction.microbatch)] & marks_of(instruction.op)) != 0;
}

void WorkRecord::add(int team, const Instruction& instruction) {
    const auto [op, stage, microbatch, age] = instruction;
    if (has_microbatch(op)) marks_[index(stage, microbatch)] |= marks_of(op);
    HeldStage& here = held(team, stage);
    if (is_compute(op)) here.oldest = std::max(here.oldest, here.updates - version_of(team, instruction));
    if (op == Op::forward) {
        versions_[index(stage, microbatch)] = version_of(team, instruction);
        keep(team, here);
        if (!is_training_) release(team, here);
    }
    if (op == Op::backward || op == Op::backward_weight) release(team, here);
    if (op == Op::backward || op == Op::backward_input) {
        count_gradients(team, microbatch / microbatches_of_step_);
    }
    if (op == Op::reduce) count_gradients(team, here.reduces++);
    if (op == Op::step) ++here.updates;
    if (op == Op::validate) ++here.validations;
}

int WorkRecord::version_of(int team, const Instruction& compute) const {
    return std::max(0, held(team, compute.stage).updates - compute.age);
}

// Gradients of a step exist from its first backward or REDUCE until all stages have been updated.
void WorkRecord::count_gradients(int team, int step) {
    int updated = step;
    for (const HeldStage& stage : held_by(team)) updated = std::min(updated, stage.updates);
    int& most = most_gradients_[static_cast<std::size_t>(team)];
    most = std::max(most, step - updated + 1);
}

const HeldStage& WorkRecord::held(int team, int stage) const { return *place_in(held_by(team), stage); }

HeldStage& WorkRecord::held(int team, int stage) {
    return *place_in(held_[static_cast<std::size_t>(team)], stage);
}

bool WorkRecord::holds(int team, int stage) const {
    const auto found = place_in(held_by(team), stage);
    return found != held_by(team).end() && found->stage == stage;
}

std::size_t WorkRecord::index(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * microbatches_ + static_cast<std::size_t>(microbatch);
}

void WorkRecord::keep(int team, HeldStage& stage) {
    const auto t = static_cast<std::size_t>(team);
    stage.most_kept = std::max(stage.most_kept, ++stage.kept);
    most_kept_[t] = std::max(most_kept_[t], ++kept_[t]);
}

void WorkRecord::release(int team, HeldStage& stage) {
    --stage.kept;
    --kept_[static_cast<std::size_t>(team)];
}

}  // namespace trireme::schedule
