#include "schedule/check/abstract_machine.hpp"

#include <algorithm>
#include <numeric>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

auto& find_stage_collectives(auto& stages, int stage) {
    return *std::ranges::find_if(stages, [&](const auto& each) { return each.stage == stage; });
}

}  // namespace

AbstractMachine::AbstractMachine(const std::vector<Program>& programs, const PipelineShape& shape,
                                 const MessageTable& messages, const StepCosts& costs)
    : programs_(programs),
      shape_(shape),
      messages_(messages),
      costs_(costs),
      slots_(static_cast<std::size_t>(shape.slots)),
      teams_(programs.size()),
      channels_(messages.channels().size()),
      runnable_teams_(programs.size()),
      steps_(static_cast<std::size_t>(shape.steps)),
      updates_stages_independently_(shape.updates_stages_independently),
      has_speculative_updates_(shape.has_speculative_updates),
      tied_stage_(shape.has_tied_embeddings ? shape.stages() - 1 : 0),
      reductions_(steps_ *
                  (updates_stages_independently_ || has_speculative_updates_ ? shape.holders.size() : 1)),
      global_reductions_(steps_) {
    count_collectives(shape);
    if (shape.is_training) {
        for (Team& team : teams_) team.step_ends.resize(steps_);
    }
    for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
        const std::size_t count = messages.channels()[channel].sends.size();
        for (auto times :
             {&ChannelState::send_times, &ChannelState::post_times, &ChannelState::arrival_times}) {
            (channels_[channel].*times).reserve(count);
        }
    }
    std::iota(runnable_teams_.rbegin(), runnable_teams_.rend(), 0);
}

void AbstractMachine::count_collectives(const PipelineShape& shape) {
    for (int stage = shape.first_trained_stage; stage < shape.stages(); ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            std::vector<StageCollectives>& records = teams_[static_cast<std::size_t>(team)].stages;
            records.push_back({.stage = stage});
            for (std::size_t step = 0; step < steps_; ++step) {
                Reduction& reduction = find_reduction(stage, step);
                ++reduction.pending_reduces;
                ++global_reductions_[step].pending_reduces;
                // A reduction of all stages counts a team only once, with the first stage of the team.
                if (updates_stages_independently_ || has_speculative_updates_ || records.size() == 1)
                    ++reduction.pending_teams;
            }
        }
    }
}

void AbstractMachine::run(const SpanSink& report_span) {
    while (!runnable_teams_.empty()) {
        const int team = runnable_teams_.back();
        runnable_teams_.pop_back();
        advance(team, report_span);
    }
}

bool AbstractMachine::is_finished(int team) const {
    return position(team) == programs_[static_cast<std::size_t>(team)].size();
}

const Instruction& AbstractMachine::next_instruction(int team) const {
    return programs_[static_cast<std::size_t>(team)][position(team)];
}

void AbstractMachine::advance(int team, const SpanSink& report_span) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    while (!is_finished(team)) {
        const Instruction& instruction = next_instruction(team);
        if (instruction.op == Op::step) reach_step(state, instruction.stage);
        if (find_obstacle(state, instruction) != Obstacle::none) return;
        execute(team, instruction, report_span);
        ++state.position;
    }
}

AbstractMachine::Obstacle AbstractMachine::find_obstacle(const Team& team,
                                                         const Instruction& instruction) const {
    if (is_compute(instruction.op)) {
        const auto read_message = messages_.find_read_message(instruction);
        if (read_message &&
            channels_[read_message->channel].arrival_times.size() <= read_message->position_in_channel)
            return Obstacle::input;
        const auto sent_message = messages_.find_sent_message(instruction);
        if (!sent_message) return Obstacle::none;
        const ChannelState& channel = channels_[sent_message->channel];
        return channel.outputs - channel.arrival_times.size() < slots_ ? Obstacle::none
                                                                       : Obstacle::buffer_to_send;
    }
    if (is_receive(instruction.op)) {
        const ChannelState& channel = channels_[messages_.find_read_message(instruction)->channel];
        return channel.posted_receives < slots_ ? Obstacle::none : Obstacle::buffer_to_receive;
    }
    return find_collective_obstacle(team, instruction);
}

AbstractMachine::Obstacle AbstractMachine::find_collective_obstacle(const Team& team,
                                                                    const Instruction& instruction) const {
    Obstacle obstacle = Obstacle::none;
    for (const Reduction* reduction : list_needed_reductions(team, instruction)) {
        if (reduction->pending_reduces > 0) return Obstacle::gradients;
        if (reduction->pending_teams > 0) obstacle = Obstacle::teams;
    }
    return obstacle;
}

// Returns the reductions that a STEP or VALIDATE needs. No other instruction waits for gradients.
std::vector<const AbstractMachine::Reduction*> AbstractMachine::list_needed_reductions(
    const Team& team, const Instruction& collective) const {
    const auto [op, stage, microbatch, age, mhz] = collective;
    if (op != Op::step && op != Op::validate) return {};
    const StageCollectives& collectives = find_stage_collectives(team.stages, stage);
    if (op == Op::validate) return {&global_reductions_[collectives.validations]};
    std::vector<const Reduction*> reductions = {&find_reduction(stage, collectives.updates)};
    // The stage that shares a tensor with `stage`, or `stage` itself if no stage does.
    const int partner_stage = stage == 0 ? tied_stage_ : (stage == tied_stage_ ? 0 : stage);
    if (has_speculative_updates_ && partner_stage != stage)
        reductions.push_back(&find_reduction(partner_stage, collectives.updates));
    return reductions;
}

void AbstractMachine::execute(int team, const Instruction& instruction, const SpanSink& report_span) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    if (instruction.op == Op::set_clock) {
        set_clock(team, instruction.mhz);
    } else if (instruction.op == Op::reduce) {
        reduce(team, instruction.stage);
    } else if (instruction.op == Op::validate) {
        validate(state, instruction);
    } else if (is_send(instruction.op) || is_receive(instruction.op)) {
        send_or_receive(state, instruction);
    } else {
        compute(team, instruction, report_span);
    }
}

// Programs are also checked with costs of a single clock; their CLOCKs then have no effect.
void AbstractMachine::set_clock(int team, int mhz) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    state.mhz = mhz;
    if (costs_.clocks().empty()) return;
    state.joules = compute_joules(team, state.time);
    state.clock_begin = state.time;
    state.clock_index = costs_.clocks()[static_cast<std::size_t>(team)].find_index(mhz);
}

double AbstractMachine::compute_joules(int team, double end) const {
    const Team& state = team_state(team);
    const TeamClocks& clocks = costs_.clocks()[static_cast<std::size_t>(team)];
    return state.joules + clocks.idle_watts[state.clock_index] * (end - state.clock_begin);
}

void AbstractMachine::validate(Team& team, const Instruction& instruction) {
    for (const Reduction* reduction : list_needed_reductions(team, instruction))
        team.time = std::max(team.time, reduction->end_time);
    team.step_ends[find_stage_collectives(team.stages, instruction.stage).validations++] = team.time;
}

// Executes a compute instruction or a STEP.
void AbstractMachine::compute(int team, const Instruction& instruction, const SpanSink& report_span) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    double begin = state.time;
    double input_arrival = 0;
    for (const Reduction* reduction : list_needed_reductions(state, instruction))
        begin = std::max(begin, reduction->end_time);
    if (instruction.op == Op::step) ++find_stage_collectives(state.stages, instruction.stage).updates;
    if (const auto read_message = messages_.find_read_message(instruction)) {
        ChannelState& channel = channels_[read_message->channel];
        input_arrival = channel.arrival_times[read_message->position_in_channel];
        begin = std::max(begin, input_arrival);
        --channel.posted_receives;
    }
    if (const auto sent_message = messages_.find_sent_message(instruction)) {
        ChannelState& channel = channels_[sent_message->channel];
        if (channel.outputs >= slots_) begin = std::max(begin, channel.arrival_times[channel.outputs - slots_]);
        ++channel.outputs;
    }
    const StageCost& cost = find_cost(team, instruction);
    state.time = begin + cost.find_time(instruction.op);
    state.joules += cost.find_joules(instruction.op);
    if (instruction.op == Op::step)
        state.step_ends[find_stage_collectives(state.stages, instruction.stage).updates - 1] = state.time;
    report_span(team, {instruction, begin, state.time, state.mhz, input_arrival});
}

void AbstractMachine::send_or_receive(Team& team, const Instruction& instruction) {
    if (is_send(instruction.op)) {
        const MessageIndex message = messages_.find_sent_message(instruction).value();
        channels_[message.channel].send_times.push_back(team.time);
        record_arrival(message, instruction);
    } else {
        const MessageIndex message = messages_.find_read_message(instruction).value();
        channels_[message.channel].post_times.push_back(team.time);
        ++channels_[message.channel].posted_receives;
        record_arrival(message, find_send(instruction));
    }
}

// Records the arrival time if the message is sent and its receive is posted. Sends and receives of a channel
// are executed in order, so that this message is the next one to arrive.
void AbstractMachine::record_arrival(const MessageIndex& message, const Instruction& send) {
    ChannelState& channel = channels_[message.channel];
    if (std::min(channel.send_times.size(), channel.post_times.size()) <= message.position_in_channel) return;
    const double begin = std::max(channel.send_times[message.position_in_channel],
                                  channel.post_times[message.position_in_channel]);
    const double end = begin + costs_.find(send.stage, send.microbatch).send;
    channel.arrival_times.push_back(
        channel.arrival_times.empty() ? end : std::max(end, channel.arrival_times.back()));
    runnable_teams_.push_back(messages_.channels()[message.channel].source);
    runnable_teams_.push_back(messages_.channels()[message.channel].destination);
}

void AbstractMachine::reduce(int team, int stage) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    const std::size_t step = find_stage_collectives(state.stages, stage).reduces++;
    const double end_time = state.time + find_step_cost(team, stage, step).reduce;
    for (Reduction* reduction : {&find_reduction(stage, step), &global_reductions_[step]}) {
        reduction->end_time = std::max(reduction->end_time, end_time);
        if (--reduction->pending_reduces == 0) make_all_runnable();
    }
}

void AbstractMachine::reach_step(Team& team, int stage) {
    StageCollectives& collectives = find_stage_collectives(team.stages, stage);
    std::size_t& reached_steps = updates_stages_independently_ ? collectives.reached_steps : team.reached_steps;
    if (reached_steps > collectives.updates) return;  // the team was already counted for this step
    ++reached_steps;
    if (!has_speculative_updates_) {
        if (--find_reduction(stage, collectives.updates).pending_teams == 0) make_all_runnable();
        return;
    }
    for (const StageCollectives& each : team.stages) {
        if (--find_reduction(each.stage, collectives.updates).pending_teams == 0) make_all_runnable();
    }
}

void AbstractMachine::make_all_runnable() {
    for (int team = 0; team < static_cast<int>(teams_.size()); ++team) runnable_teams_.push_back(team);
}

const AbstractMachine::Reduction& AbstractMachine::find_reduction(int stage, std::size_t step) const {
    return reductions_[(reductions_.size() > steps_ ? static_cast<std::size_t>(stage) * steps_ : 0) + step];
}

AbstractMachine::Reduction& AbstractMachine::find_reduction(int stage, std::size_t step) {
    return reductions_[(reductions_.size() > steps_ ? static_cast<std::size_t>(stage) * steps_ : 0) + step];
}

// Returns the costs of the last micro-batch that the team executes in the stage in this step. If the team
// executes none, returns the costs of the first micro-batch of the step.
const StageCost& AbstractMachine::find_step_cost(int team, int stage, std::size_t step) const {
    const int first = static_cast<int>(step) * shape_.microbatches;
    return costs_.find(stage, first + shape_.find_last_microbatch(team, stage), team_state(team).clock_index);
}

const StageCost& AbstractMachine::find_cost(int team, const Instruction& instruction) const {
    const auto& [op, stage, microbatch, age, mhz] = instruction;
    const Team& state = team_state(team);
    if (op != Op::step) return costs_.find(stage, microbatch, state.clock_index);
    const std::size_t step = find_stage_collectives(state.stages, stage).updates - 1;
    return find_step_cost(team, stage, step);
}

std::string AbstractMachine::describe_obstacle(int team) const {
    const Instruction& instruction = next_instruction(team);
    const auto describe_buffer = [&](const std::optional<MessageIndex>& message, bool is_to_send) {
        const Channel& channel = messages_.channels()[message.value().channel];
        return cat("waits for a free buffer for ", channel.is_gradient ? "gradients" : "activations",
                   is_to_send ? " to team " : " from team ", is_to_send ? channel.destination : channel.source,
                   " (the channel has ", slots_, ")");
    };
    const Obstacle obstacle = find_obstacle(team_state(team), instruction);
    switch (obstacle) {
        case Obstacle::none:
            break;
        case Obstacle::input: {
            const MessageIndex message = messages_.find_read_message(instruction).value();
            const Channel& channel = messages_.channels()[message.channel];
            return cat("waits for ", to_string(channel.sends[message.position_in_channel]), " of team ",
                       channel.source);
        }
        case Obstacle::buffer_to_send:
            return describe_buffer(messages_.find_sent_message(instruction), true);
        case Obstacle::buffer_to_receive:
            return describe_buffer(messages_.find_read_message(instruction), false);
        case Obstacle::gradients:
        case Obstacle::teams: {
            const bool waits_for_holders =
                updates_stages_independently_ || (has_speculative_updates_ && instruction.op == Op::step);
            return cat("waits for the ", obstacle == Obstacle::gradients ? "REDUCEs" : "STEPs", " of all ",
                       waits_for_holders ? "teams that hold the same tensors" : "teams");
        }
    }
    throw BugError(cat("team ", team, " can continue with ", to_string(instruction)));
}

}  // namespace trireme::schedule
