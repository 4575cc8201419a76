// The messages of one rank for a send or receive instruction between two teams.
#pragma once

#include <vector>

#include "trireme/layout/row_messages.hpp"
#include "trireme/pipeline/engine.hpp"

namespace trireme::pipeline {

// A message to or from a peer: some of this rank's rows of the micro-batch.
struct Leg {
    int peer = 0;            // rank in the group
    layout::Range own_rows;  // counted from the first row of this rank
};

class Routes {
public:
    explicit Routes(const EngineWiring& wiring);

    // Returns the team at the other end of a send or receive.
    int other_team(const schedule::Instruction& message) const;
    // Returns the messages of this rank for the instruction, for a micro-batch of `rows` rows.
    std::vector<Leg> legs(const schedule::Instruction& message, std::size_t rows) const;
    // True if the other end of the message is another team.
    bool leaves_team(const schedule::Instruction& message) const { return other_team(message) != team_; }
    bool is_first(int stage) const { return stage == 0; }
    bool is_last(int stage) const { return stage + 1 == wiring_.shape.stages(); }

private:
    int place_in_group(int rank) const;
    layout::Range rows_of(int rank, int team, std::size_t rows) const;

    const EngineWiring wiring_;
    int team_;
};

bool is_of_gradient(schedule::Op message);

}  // namespace trireme::pipeline
