#include "schedule/check/message_table.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "schedule/programs/instruction_queries.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {

MessageTable::MessageTable(const std::vector<Program>& programs, const PipelineShape& shape)
    : stages_(static_cast<std::size_t>(shape.stages())),
      microbatches_(static_cast<std::size_t>(shape.count_microbatches())),
      entries_(2 * stages_ * microbatches_) {
    for (int team = 0; team < shape.teams; ++team) {
        // Indices in channels_ of the channels whose source is `team`, by (destination, is_gradient).
        std::map<std::tuple<int, bool>, int> channel_indices;
        for (const Instruction& instruction : programs[static_cast<std::size_t>(team)]) {
            if (!is_send(instruction.op)) continue;
            const bool is_gradient = instruction.op == Op::send_backward;
            const int peer = find_peer(instruction, shape);
            const auto [channel, is_new] =
                channel_indices.try_emplace({peer, is_gradient}, static_cast<int>(channels_.size()));
            if (is_new) channels_.push_back({team, peer, is_gradient, {}});
            std::vector<Instruction>& sends = channels_[static_cast<std::size_t>(channel->second)].sends;
            entries_[entry_index(is_gradient, instruction.stage, instruction.microbatch)] = {
                channel->second, static_cast<int>(sends.size())};
            sends.push_back(instruction);
        }
    }
}

std::size_t MessageTable::entry_index(bool is_gradient, int sender_stage, int microbatch) const {
    const std::size_t sender_index = (is_gradient ? stages_ : 0) + static_cast<std::size_t>(sender_stage);
    return sender_index * microbatches_ + static_cast<std::size_t>(microbatch);
}

std::optional<MessageIndex> MessageTable::find_message(bool is_gradient, int sender_stage,
                                                       int microbatch) const {
    if (sender_stage < 0 || sender_stage >= static_cast<int>(stages_)) return std::nullopt;
    const Entry& entry = entries_[entry_index(is_gradient, sender_stage, microbatch)];
    if (entry.channel == no_channel) return std::nullopt;
    return MessageIndex{static_cast<std::size_t>(entry.channel),
                        static_cast<std::size_t>(entry.position_in_channel)};
}

std::optional<MessageIndex> MessageTable::find_read_message(const Instruction& instruction) const {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    const bool is_activation = op == Op::forward || op == Op::receive_forward;
    const bool is_gradient = op == Op::backward || op == Op::backward_input || op == Op::receive_backward;
    if (is_activation) return find_message(false, stage - 1, microbatch);
    if (is_gradient) return find_message(true, stage + 1, microbatch);
    return std::nullopt;
}

std::optional<MessageIndex> MessageTable::find_sent_message(const Instruction& instruction) const {
    const auto [op, stage, microbatch, age, mhz] = instruction;
    const bool is_activation = op == Op::forward || op == Op::send_forward;
    const bool is_gradient = op == Op::backward || op == Op::backward_input || op == Op::send_backward;
    if (is_activation || is_gradient) return find_message(is_gradient, stage, microbatch);
    return std::nullopt;
}

std::optional<Fault> MessageTable::find_crossed_message(const std::vector<Program>& programs) const {
    std::vector<std::size_t> receive_counts(channels_.size());  // per channel: receives checked so far
    for (const Program& program : programs) {
        for (std::size_t position = 0; position < program.size(); ++position) {
            if (!is_receive(program[position].op)) continue;
            const MessageIndex named_message = find_read_message(program[position]).value();
            const MessageIndex delivered_message = {named_message.channel,
                                                    receive_counts[named_message.channel]++};
            if (named_message.position_in_channel != delivered_message.position_in_channel)
                return describe_crossing(programs, delivered_message, position);
        }
    }
    return std::nullopt;
}

Fault MessageTable::describe_crossing(const std::vector<Program>& programs,
                                      const MessageIndex& delivered_message,
                                      std::size_t receive_position) const {
    const Channel& channel = channels_[delivered_message.channel];
    const Program& source_program = programs[static_cast<std::size_t>(channel.source)];
    const auto send = std::find(source_program.begin(), source_program.end(),
                                channel.sends[delivered_message.position_in_channel]);
    const auto send_position = static_cast<std::size_t>(send - source_program.begin());
    return {channel.destination, receive_position,
            cat("messages cross: the ", format_ordinal(delivered_message.position_in_channel + 1),
                channel.is_gradient ? " gradient" : " activation", " from team ", channel.source, " to team ",
                channel.destination, " is sent by ", describe_position(programs, channel.source, send_position),
                ", but is received by ", describe_position(programs, channel.destination, receive_position),
                "; send and receive in the same order")};
}

}  // namespace trireme::schedule
