// What the exhaustive interpreter knows of programs before it runs them: where each instruction stands, which
// way messages go, and what is wrong whatever the order of execution.
#pragma once

#include <compare>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule::written {

bool is_collective(Op op);  // reduce, step and validate
bool goes_forward(Op op);   // has to do with activations; all else has to do with gradients

// The stage at the other end of a message; for a compute instruction, the stage that reads its result. May be a
// stage that does not exist.
int other_stage(const Instruction& instruction);
bool has_stage(const PipelineShape& shape, int stage);

struct Channel {
    int source = 0;
    int destination = 0;
    bool has_activations = true;

    auto operator<=>(const Channel&) const = default;
};

// Of a message, or of the message that carries the result of a compute instruction; `team` executes it.
Channel channel_of(const Instruction& instruction, int team, const PipelineShape& shape);

// The program with a number in every instruction: a REDUCE, STEP or VALIDATE has that of its step, which is how
// many of its stage stand before it, in place of the micro-batch.
Program numbered(const Program& program);

// Where each instruction of numbered programs stands, in the program of the team that it must stand in.
class Positions {
public:
    Positions(std::size_t teams, const PipelineShape& shape)
        : teams_(teams),
          numbers_(static_cast<std::size_t>(shape.all_microbatches())),  // of steps there are no more
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

// Empty, or an objection to the programs as they are written: work, messages or collectives that are missing,
// stand twice, at the wrong team or crossed, or are reduced in unlike orders. Notes where instructions stand.
// Weights are not looked at.
std::string objection_to_text(const std::vector<Program>& programs, const PipelineShape& shape,
                              Positions& positions);

// Empty, or two ends of a channel that are not those of one message. Programs may do things twice.
std::string objection_to_pairs(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule::written
