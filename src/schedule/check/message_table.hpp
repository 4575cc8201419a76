// The messages of programs: the channel that carries each one, and its position there.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The messages of one kind from one team to another, in the order of the sends.
struct Channel {
    int source = 0;
    int destination = 0;
    bool is_gradient = false;
    std::vector<Instruction> sends;
};

// Message `place` of a channel, counted from 0.
struct MessageIndex {
    std::size_t channel = 0;
    std::size_t place = 0;
};

class MessageTable {
public:
    // `programs` must have all sends and receives once, each at its team.
    MessageTable(const std::vector<Program>& programs, const PipelineShape& shape);

    const std::vector<Channel>& channels() const { return channels_; }

    // Return the message that an instruction reads (a forward, a whole backward, its input half or a receive)
    // or gives (the same or a send). Empty if both ends are in the same team, or if there is no other end.
    std::optional<MessageIndex> read_by(const Instruction& instruction) const;
    std::optional<MessageIndex> given_by(const Instruction& instruction) const;

    // Finds the first receive that would get another message than it names.
    std::optional<Fault> crossing(const std::vector<Program>& programs) const;

private:
    static constexpr int no_channel = -1;
    struct Entry {
        int channel = no_channel;
        int place = 0;
    };

    std::size_t index(bool is_gradient, int sender, int microbatch) const;
    std::optional<MessageIndex> message(bool is_gradient, int sender, int microbatch) const;
    Fault crossed(const std::vector<Program>& programs, const MessageIndex& due, std::size_t position) const;

    std::size_t stages_;
    std::size_t microbatches_;
    std::vector<Channel> channels_;
    std::vector<Entry> entries_;  // (activation or gradient, sending stage, micro-batch)
};

}  // namespace trireme::schedule
