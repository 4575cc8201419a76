#include "schedule/programs/work_record.hpp"

#include <algorithm>

namespace trireme::schedule {
namespace {

// Returns the bits that record an instruction in done_bits_. An unsplit backward has the bits of both halves.
// Collectives have no bits, because StageRecord counts them.
std::uint8_t find_work_bits(Op op) {
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
        case Op::set_clock:
            return 0;
    }
    return 0;
}

// Returns an iterator to the record of `stage`. If there is none, the iterator points to the first record of a
// later stage, or to the end. `records` has the StageRecords of a team, ordered by stage.
auto find_stage_record(auto& records, int stage) {
    return std::lower_bound(
        records.begin(), records.end(), stage,
        [](const StageRecord& record, int wanted_stage) { return record.stage < wanted_stage; });
}

}  // namespace

WorkRecord::WorkRecord(const PipelineShape& shape)
    : microbatches_(static_cast<std::size_t>(shape.count_microbatches())),
      microbatches_per_step_(shape.microbatches),
      first_trained_stage_(shape.is_training ? shape.first_trained_stage : shape.stages()),
      done_bits_(shape.holders.size() * microbatches_),
      stage_records_(static_cast<std::size_t>(shape.teams)),
      stashed_activations_(stage_records_.size()),
      peak_activations_(stage_records_.size()),
      peak_gradient_steps_(stage_records_.size()),
      forward_versions_(done_bits_.size()) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            stage_records_[static_cast<std::size_t>(team)].push_back({.stage = stage});
        }
    }
}

bool WorkRecord::has_done_any_part(const Instruction& instruction) const {
    return (done_bits_[pass_index(instruction.stage, instruction.microbatch)] &
            find_work_bits(instruction.op)) != 0;
}

void WorkRecord::add(int team, const Instruction& instruction) {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    if (!has_stage(op)) return;
    if (has_microbatch(op)) done_bits_[pass_index(stage, microbatch)] |= find_work_bits(op);
    StageRecord& record = find_record(team, stage);
    if (is_compute(op))
        record.max_age = std::max(record.max_age, record.updates - find_version(team, instruction));
    if (op == Op::forward) {
        forward_versions_[pass_index(stage, microbatch)] = find_version(team, instruction);
        stash_activation(team, record);
        // No backward reads the activation if the stage is not trained.
        if (stage < first_trained_stage_) release_activation(team, record);
    }
    if (op == Op::backward || op == Op::backward_weight) release_activation(team, record);
    if (op == Op::backward || op == Op::backward_input) {
        raise_gradient_peak(team, microbatch / microbatches_per_step_);
    }
    if (op == Op::reduce) raise_gradient_peak(team, record.reduces++);
    if (op == Op::step) ++record.updates;
    if (op == Op::validate) ++record.validations;
}

int WorkRecord::find_version(int team, const Instruction& compute_instruction) const {
    const int updates = find_record(team, compute_instruction.stage).updates;
    return std::max(0, updates - compute_instruction.age);
}

// Called when the team computes or reduces gradients of `step`. The team holds the gradients of a step until
// the team has updated all its stages. Steps are numbered from 0, so that `updated_steps` is also the first
// step without an update: the team holds the gradients of this step, of `step`, and of the steps between them.
void WorkRecord::raise_gradient_peak(int team, int step) {
    int updated_steps = step;
    for (const StageRecord& record : stage_records(team))
        if (record.stage >= first_trained_stage_) updated_steps = std::min(updated_steps, record.updates);
    int& peak = peak_gradient_steps_[static_cast<std::size_t>(team)];
    peak = std::max(peak, step - updated_steps + 1);
}

const StageRecord& WorkRecord::find_record(int team, int stage) const {
    return *find_stage_record(stage_records(team), stage);
}

StageRecord& WorkRecord::find_record(int team, int stage) {
    return *find_stage_record(stage_records_[static_cast<std::size_t>(team)], stage);
}

bool WorkRecord::is_holder(int team, int stage) const {
    const auto found = find_stage_record(stage_records(team), stage);
    return found != stage_records(team).end() && found->stage == stage;
}

std::size_t WorkRecord::pass_index(int stage, int microbatch) const {
    return static_cast<std::size_t>(stage) * microbatches_ + static_cast<std::size_t>(microbatch);
}

void WorkRecord::stash_activation(int team, StageRecord& record) {
    const auto t = static_cast<std::size_t>(team);
    record.peak_activations = std::max(record.peak_activations, ++record.stashed_activations);
    peak_activations_[t] = std::max(peak_activations_[t], ++stashed_activations_[t]);
}

void WorkRecord::release_activation(int team, StageRecord& record) {
    --record.stashed_activations;
    --stashed_activations_[static_cast<std::size_t>(team)];
}

}  // namespace trireme::schedule
