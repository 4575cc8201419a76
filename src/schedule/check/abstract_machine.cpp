#include "schedule/check/abstract_machine.hpp"

#include <algorithm>
#include <numeric>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

auto& collectives_of(auto& stages, int stage) {
    return *std::ranges::find_if(stages, [&](const auto& each) { return each.stage == stage; });
}

// Messages and reductions take no compute time.
double compute_cost(Op op, const StageCost& cost) {
    switch (op) {
        case Op::forward:
            return cost.forward;
        case Op::backward:
            return cost.backward_input + cost.backward_weight;
        case Op::backward_input:
            return cost.backward_input;
        case Op::backward_weight:
            return cost.backward_weight;
        case Op::step:
            return cost.step;
        case Op::send_forward:
        case Op::receive_forward:
        case Op::send_backward:
        case Op::receive_backward:
        case Op::reduce:
        case Op::validate:
            break;
    }
    return 0;
}

}  // namespace

AbstractMachine::AbstractMachine(const std::vector<Program>& programs, const PipelineShape& shape,
                                 const MessageTable& messages, const std::vector<StageCost>& costs,
                                 const TeamFactors& factors)
    : programs_(programs),
      messages_(messages),
      costs_(costs),
      factors_(factors),
      slots_(static_cast<std::size_t>(shape.slots)),
      teams_(programs.size()),
      channels_(messages.channels().size()),
      woken_(programs.size()),
      steps_(static_cast<std::size_t>(shape.steps)),
      updates_alone_(shape.updates_alone),
      validates_(shape.validates),
      tied_to_first_(shape.ties_ends ? shape.stages() - 1 : 0),
      sums_(steps_ * (updates_alone_ || validates_ ? shape.holders.size() : 1)),
      norms_(steps_) {
    expect_collectives(shape);
    for (std::size_t channel = 0; channel < channels_.size(); ++channel) {
        const std::size_t count = messages.channels()[channel].sends.size();
        for (auto times : {&ChannelState::sent, &ChannelState::posted, &ChannelState::arrived}) {
            (channels_[channel].*times).reserve(count);
        }
    }
    std::iota(woken_.rbegin(), woken_.rend(), 0);
}

void AbstractMachine::expect_collectives(const PipelineShape& shape) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            std::vector<Collectives>& held = teams_[static_cast<std::size_t>(team)].stages;
            held.push_back({.stage = stage});
            for (std::size_t step = 0; step < steps_; ++step) {
                Sum& sum = sum_of(stage, step);
                ++sum.reduces_to_come;
                ++norms_[step].reduces_to_come;
                if (updates_alone_ || validates_ || held.size() == 1) ++sum.teams_to_come;
            }
        }
    }
}

void AbstractMachine::run(const SpanSink& sink) {
    while (!woken_.empty()) {
        const int team = woken_.back();
        woken_.pop_back();
        go_on(team, sink);
    }
}

bool AbstractMachine::is_finished(int team) const {
    return position(team) == programs_[static_cast<std::size_t>(team)].size();
}

const Instruction& AbstractMachine::next(int team) const {
    return programs_[static_cast<std::size_t>(team)][position(team)];
}

void AbstractMachine::go_on(int team, const SpanSink& sink) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    while (!is_finished(team)) {
        const Instruction& instruction = next(team);
        if (instruction.op == Op::step) come_to_step(state, instruction.stage);
        if (obstacle_of(state, instruction) != Obstacle::none) return;
        execute(team, instruction, sink);
        ++state.position;
    }
}

AbstractMachine::Obstacle AbstractMachine::obstacle_of(const Team& team, const Instruction& instruction) const {
    if (is_compute(instruction.op)) {
        const auto read = messages_.read_by(instruction);
        if (read && channels_[read->channel].arrived.size() <= read->place) return Obstacle::input;
        const auto given = messages_.given_by(instruction);
        if (!given) return Obstacle::none;
        const ChannelState& channel = channels_[given->channel];
        return channel.made - channel.arrived.size() < slots_ ? Obstacle::none : Obstacle::buffer_to_send;
    }
    if (is_receive(instruction.op)) {
        const ChannelState& channel = channels_[messages_.read_by(instruction)->channel];
        return channel.unread < slots_ ? Obstacle::none : Obstacle::buffer_to_receive;
    }
    return obstacle_of_collective(team, instruction);
}

AbstractMachine::Obstacle AbstractMachine::obstacle_of_collective(const Team& team,
                                                                  const Instruction& instruction) const {
    Obstacle obstacle = Obstacle::none;
    for (const Sum* sum : needed_by(team, instruction)) {
        if (sum->reduces_to_come > 0) return Obstacle::gradients;
        if (sum->teams_to_come > 0) obstacle = Obstacle::teams;
    }
    return obstacle;
}

// Returns the reductions that a STEP or VALIDATE needs. No other instruction waits for gradients.
std::vector<const AbstractMachine::Sum*> AbstractMachine::needed_by(const Team& team,
                                                                    const Instruction& collective) const {
    const auto [op, stage, microbatch, age] = collective;
    if (op != Op::step && op != Op::validate) return {};
    const Collectives& own = collectives_of(team.stages, stage);
    if (op == Op::validate) return {&norms_[own.validations]};
    std::vector<const Sum*> needed = {&sum_of(stage, own.updates)};
    const int partner = stage == 0 ? tied_to_first_ : (stage == tied_to_first_ ? 0 : stage);
    if (validates_ && partner != stage) needed.push_back(&sum_of(partner, own.updates));
    return needed;
}

void AbstractMachine::execute(int team, const Instruction& instruction, const SpanSink& sink) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    if (instruction.op == Op::reduce) {
        reduce(state, instruction.stage);
    } else if (instruction.op == Op::validate) {
        validate(state, instruction);
    } else if (is_send(instruction.op) || is_receive(instruction.op)) {
        send_or_receive(state, instruction);
    } else {
        compute(team, instruction, sink);
    }
}

void AbstractMachine::validate(Team& team, const Instruction& instruction) {
    for (const Sum* sum : needed_by(team, instruction)) team.clock = std::max(team.clock, sum->done);
    ++collectives_of(team.stages, instruction.stage).validations;
}

// Also executes STEPs, which take compute time, too.
void AbstractMachine::compute(int team, const Instruction& instruction, const SpanSink& sink) {
    Team& state = teams_[static_cast<std::size_t>(team)];
    double begin = state.clock;
    for (const Sum* sum : needed_by(state, instruction)) begin = std::max(begin, sum->done);
    if (instruction.op == Op::step) ++collectives_of(state.stages, instruction.stage).updates;
    if (const auto read = messages_.read_by(instruction)) {
        ChannelState& channel = channels_[read->channel];
        begin = std::max(begin, channel.arrived[read->place]);
        --channel.unread;
    }
    if (const auto given = messages_.given_by(instruction)) {
        ChannelState& channel = channels_[given->channel];
        if (channel.made >= slots_) begin = std::max(begin, channel.arrived[channel.made - slots_]);
        ++channel.made;
    }
    state.clock = begin + cost_of(team, instruction);
    sink(team, {instruction, begin, state.clock});
}

void AbstractMachine::send_or_receive(Team& team, const Instruction& instruction) {
    if (is_send(instruction.op)) {
        const MessageIndex message = messages_.given_by(instruction).value();
        channels_[message.channel].sent.push_back(team.clock);
        arrive(message, instruction.stage);
    } else {
        const MessageIndex message = messages_.read_by(instruction).value();
        channels_[message.channel].posted.push_back(team.clock);
        ++channels_[message.channel].unread;
        arrive(message, send_of(instruction).stage);
    }
}

// Records the arrival if both ends are ready. Each end adds its messages in order, so that this one is the
// next.
void AbstractMachine::arrive(const MessageIndex& message, int sender) {
    ChannelState& channel = channels_[message.channel];
    if (std::min(channel.sent.size(), channel.posted.size()) <= message.place) return;
    const double begin = std::max(channel.sent[message.place], channel.posted[message.place]);
    const double end = begin + costs_[static_cast<std::size_t>(sender)].send;
    channel.arrived.push_back(channel.arrived.empty() ? end : std::max(end, channel.arrived.back()));
    woken_.push_back(messages_.channels()[message.channel].source);
    woken_.push_back(messages_.channels()[message.channel].destination);
}

void AbstractMachine::reduce(Team& team, int stage) {
    const std::size_t step = collectives_of(team.stages, stage).reduces++;
    const double done = team.clock + costs_[static_cast<std::size_t>(stage)].reduce;
    for (Sum* sum : {&sum_of(stage, step), &norms_[step]}) {
        sum->done = std::max(sum->done, done);
        if (--sum->reduces_to_come == 0) wake_all();
    }
}

void AbstractMachine::come_to_step(Team& team, int stage) {
    Collectives& own = collectives_of(team.stages, stage);
    std::size_t& come_to = updates_alone_ ? own.steps_come_to : team.steps_come_to;
    if (come_to > own.updates) return;
    ++come_to;
    if (!validates_) {
        if (--sum_of(stage, own.updates).teams_to_come == 0) wake_all();
        return;
    }
    for (const Collectives& held : team.stages) {
        if (--sum_of(held.stage, own.updates).teams_to_come == 0) wake_all();
    }
}

void AbstractMachine::wake_all() {
    for (int team = 0; team < static_cast<int>(teams_.size()); ++team) woken_.push_back(team);
}

const AbstractMachine::Sum& AbstractMachine::sum_of(int stage, std::size_t step) const {
    return sums_[(sums_.size() > steps_ ? static_cast<std::size_t>(stage) * steps_ : 0) + step];
}

AbstractMachine::Sum& AbstractMachine::sum_of(int stage, std::size_t step) {
    return sums_[(sums_.size() > steps_ ? static_cast<std::size_t>(stage) * steps_ : 0) + step];
}

double AbstractMachine::cost_of(int team, const Instruction& instruction) const {
    const auto stage = static_cast<std::size_t>(instruction.stage);
    const double factor = factors_.empty() ? 1 : factors_[stage][static_cast<std::size_t>(team)];
    return factor * compute_cost(instruction.op, costs_[stage]);
}

std::string AbstractMachine::obstacle(int team) const {
    const Instruction& instruction = next(team);
    const auto buffer_of = [&](const std::optional<MessageIndex>& message, bool is_to_send) {
        const Channel& channel = messages_.channels()[message.value().channel];
        return cat("waits for a free buffer for ", channel.is_gradient ? "gradients" : "activations",
                   is_to_send ? " to team " : " from team ", is_to_send ? channel.destination : channel.source,
                   " (it has ", slots_, ")");
    };
    const Obstacle obstacle = obstacle_of(team_at(team), instruction);
    switch (obstacle) {
        case Obstacle::none:
            break;
        case Obstacle::input: {
            const MessageIndex message = messages_.read_by(instruction).value();
            const Channel& channel = messages_.channels()[message.channel];
            return cat("waits for ", to_string(channel.sends[message.place]), " of team ", channel.source);
        }
        case Obstacle::buffer_to_send:
            return buffer_of(messages_.given_by(instruction), true);
        case Obstacle::buffer_to_receive:
            return buffer_of(messages_.read_by(instruction), false);
        case Obstacle::gradients:
        case Obstacle::teams: {
            const bool is_of_holders = updates_alone_ || (validates_ && instruction.op == Op::step);
            return cat("waits for the ", obstacle == Obstacle::gradients ? "REDUCEs" : "STEPs", " of all ",
                       is_of_holders ? "holders" : "teams");
        }
    }
    throw BugError(cat("team ", team, " can continue with ", to_string(instruction)));
}

}  // namespace trireme::schedule
