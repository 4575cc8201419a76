// Proves programs, or says what is wrong with them. All programs are executed abstractly under the meaning that
// the engine gives them:
//
// - A send starts a message and a receive posts its buffer; neither waits for the other side. Messages of a
//   channel (source team, destination team, activation or gradient) pair in order: the k-th send with the k-th
//   receive. A pair that names different micro-batches or stages is crossed.
// - Each end of a channel has `slots` buffers. A receive takes one when it is posted (and waits until one is
//   free) and gives it back when the compute instruction that reads it has run. At the other end the compute
//   instruction that makes a result takes one (and waits until one is free), and the message gives it back when
//   it is complete: sent, and its receive posted.
// - A compute instruction waits for its inputs: F of stage s for the result of F of stage s - 1, which came by
//   message or was made by the same team before; B and I for F of the same team, and for the gradient from
//   stage s + 1 (B or I there), if there is such a stage; W for I.
// - A send needs the result to have been made before, by the same team, and goes to the executor of the
//   neighbouring stage, which must be another team.
// - REDUCE of a stage needs all backward work of the team in that stage to have been done; it waits for nobody.
//   Teams that hold several stages in common reduce them in the same order. STEP needs the team's REDUCE of
//   that stage, and waits until all teams have come to the REDUCE of all their stages.
// - Every micro-batch passes every stage once, forward and back (B, or I and then W), at its executor; a
//   training program reduces and steps every stage it holds once; no send is left without receive.
//
// What one team does first never changes what another may do, so that one order of execution stands for all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme {

struct Fault {
    int team = 0;
    std::size_t position = 0;  // in the team's program; its length: what is missing at its end
    // "team 1 is stuck at 2RECV_B0, its 7th instruction; team 0 is stuck at ..."; names the instructions.
    std::string what;
};

struct Proof {
    std::vector<int> peak_activations;  // per team: micro-batches kept at most, counted over its stages
    std::vector<std::vector<int>> peak_of_stage;  // per team and stage: likewise, of that stage alone
};

struct Verdict {
    std::optional<Fault> fault;  // the first found; none: the programs are proved
    Proof proof;                 // where there is no fault

    bool is_proved() const { return !fault; }
};

// An activation is kept from the F of a stage to the B, or the W, of it; in forward-only programs to the end of
// the F. (What a posted receive holds before the F is counted by the slots.)
Verdict check(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme
