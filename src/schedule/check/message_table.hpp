// The messages of programs: the channel that carries each message, and the message's position in the channel.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// A channel carries the activations, or the gradients, that one team sends to another.
struct Channel {
    int source = 0;                  // the sending team
    int destination = 0;             // the receiving team
    bool is_gradient = false;        // true: carries gradients; false: carries activations
    std::vector<Instruction> sends;  // in the order of the source's program
};

// Identifies a message.
struct MessageIndex {
    std::size_t channel = 0;              // index in MessageTable::channels()
    std::size_t position_in_channel = 0;  // index in Channel::sends
};

class MessageTable {
public:
    // `programs` must contain every send and receive exactly once. An instruction stands in the program of the
    // team that executes the instruction's micro-batch in the instruction's stage. The sends and receives of an
    // empty micro-batch may all be missing.
    MessageTable(const std::vector<Program>& programs, const PipelineShape& shape);

    const std::vector<Channel>& channels() const { return channels_; }

    // Returns the message that a forward, a backward or an input half reads, or that a receive names. Empty if
    // the same team computes the input, or if the instruction has no input from another stage.
    std::optional<MessageIndex> find_read_message(const Instruction& instruction) const;
    // Returns the message that carries the result of a forward, a backward or an input half, or that a send
    // starts. Empty if the same team reads the result, or if no other stage reads it.
    std::optional<MessageIndex> find_sent_message(const Instruction& instruction) const;

    // Finds the first receive that names another message than its channel delivers to it. `programs` must be
    // the argument of the constructor.
    std::optional<Fault> find_crossed_message(const std::vector<Program>& programs) const;

private:
    static constexpr int no_channel = -1;
    struct Entry {  // a MessageIndex, or no_channel if there is no such message
        int channel = no_channel;
        int position_in_channel = 0;
    };

    std::size_t entry_index(bool is_gradient, int sender_stage, int microbatch) const;
    std::optional<MessageIndex> find_message(bool is_gradient, int sender_stage, int microbatch) const;
    Fault describe_crossing(const std::vector<Program>& programs, const MessageIndex& delivered_message,
                            std::size_t receive_position) const;

    std::size_t stages_;
    std::size_t microbatches_;
    std::vector<Channel> channels_;
    std::vector<Entry> entries_;  // by (activation or gradient, sending stage, micro-batch)
};

}  // namespace trireme::schedule
