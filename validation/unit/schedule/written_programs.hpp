// Facts that the exhaustive interpreter knows about programs before it runs them: the position of each
// instruction, the direction of messages, and faults in any order of execution.
#pragma once

#include <compare>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule::written {

bool is_collective(Op op);         // REDUCE, STEP and VALIDATE
bool is_forward_direction(Op op);  // concerns activations; all others concern gradients

// Returns the stage at the other end of a message, or the stage that reads the result of a compute instruction.
// That stage need not exist.
int other_stage(const Instruction& instruction);
bool has_stage(const PipelineShape& shape, int stage);
// True if the stage exists and only runs forward, because it is frozen or because no stage is trained.
bool only_runs_forward(const PipelineShape& shape, int stage);

// The messages of one kind, activations or gradients, from one team to another.
struct Channel {
    int source = 0;
    int destination = 0;
    bool has_activations = true;

    auto operator<=>(const Channel&) const = default;
};

// Returns the channel of a message, or of the message that carries the result of a compute instruction. `team`
// executes the instruction.
Channel find_channel(const Instruction& instruction, int team, const PipelineShape& shape);

// Returns the program with a number in every instruction. In place of a micro-batch, a REDUCE, STEP or VALIDATE
// gets its step: the number of those of its kind and stage before it.
Program numbered(const Program& program);

// Position of each instruction of numbered programs, within the program of the team that executes it.
class Positions {
public:
    Positions(std::size_t teams, const PipelineShape& shape)
        : teams_(teams),
          numbers_(static_cast<std::size_t>(shape.count_microbatches())),  // there are no more steps than that
          positions_(operations * static_cast<std::size_t>(shape.stages()) * numbers_ * teams, absent) {}

    std::size_t& of(int team, const Instruction& instruction) { return positions_[index(team, instruction)]; }
    std::size_t of(int team, const Instruction& instruction) const {
        return positions_[index(team, instruction)];
    }
    bool has(int team, const Instruction& instruction) const { return of(team, instruction) != absent; }

private:
    static constexpr std::size_t absent = std::numeric_limits<std::size_t>::max();
    static constexpr std::size_t operations = static_cast<std::size_t>(Op::validate) + 1;

    std::size_t index(int team, const Instruction& instruction) const {
        const auto stage = static_cast<std::size_t>(instruction.stage);
        const std::size_t cell = stage * numbers_ + static_cast<std::size_t>(instruction.microbatch);
        return (cell * teams_ + static_cast<std::size_t>(team)) * operations +
               static_cast<std::size_t>(instruction.op);
    }

    std::size_t teams_;
    std::size_t numbers_;
    std::vector<std::size_t> positions_;
};

// Returns an objection to the programs as they are written, or an empty string. It looks for work, messages or
// collectives that are missing, repeated, crossed or at the wrong team, and for reductions in different orders.
// It ignores weights. Stores the positions of instructions in `positions`.
std::string find_static_objection(const std::vector<Program>& programs, const PipelineShape& shape,
                                  Positions& positions);

// Returns an objection if two ends of a channel are not those of one message, otherwise an empty string.
// Programs may contain repetitions.
std::string find_pair_objection(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule::written
