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
//   stage s + 1 (B or I there), if there is such a stage; W for I. What gives back the activations of stage s,
//   B or W, comes behind that of stage s + 1 where the same team has both: there is one copy of what s gave.
// - A send needs the result to have been made before, by the same team, and goes to the executor of the
//   neighbouring stage, which must be another team.
// - Programs cover one step, or several whose micro-batches are numbered one after the other. A team's k-th
//   REDUCE of a stage and its k-th STEP are those of the k-th step.
// - REDUCE of a stage needs all backward work of the step by the team in that stage to have been done; it waits
//   for nobody. Teams that hold several stages in common reduce them in the same order, over all steps. STEP
//   needs the team's REDUCE of that stage and step, and waits until all teams have come to theirs of all their
//   stages, and to a STEP of that step; where stages are updated alone, until all holders of the stage have
//   come to theirs of it. (A sum goes on while its teams work, or wait at a STEP. One that waits for a message
//   does nothing for it, so that what comes before its STEP must not need what others do behind theirs.)
// - Where updates are validated, STEP waits for nobody but the holders of its stage, until they have come to
//   their REDUCEs of it and to a STEP of that step; if the first and the last stage share a tensor, that of one
//   for the holders of both. It guesses what the norm of all gradients will say. VALIDATE waits until all teams
//   have come to their REDUCEs of all their stages; a team's k-th VALIDATE of a stage is that of the k-th step.
//   The STEPs of a step stand together in a program, its VALIDATEs too, and between them nothing but forwards
//   of the next step and their messages. All else of a step stands between the VALIDATEs before it and its
//   STEPs. All ages are 0.
// - If the guess was wrong, all teams find so at their VALIDATEs, take the update back, do it rightly, and do
// what
//   stands between STEPs and VALIDATEs again, messages included. So a message is sent there if and only if it
//   is received and read there, too. (At its VALIDATE a team has read all that was sent to it, and its buffers
//   are as they were behind its STEPs or freer, so that doing it again cannot get stuck.)
// - A compute instruction with age a uses the weights that the team's last STEP of the stage but a has left, or
//   the first ones where there have not been so many. Both passes of a micro-batch through a stage use the
//   same; so do all stages, unless they are updated alone.
// - Every micro-batch passes every stage once, forward and back (B, or I and then W), at its executor; a
//   training program reduces and steps every stage it holds once in each step, and validates that where updates
//   are; no send is left without receive.
//
// What one team does first never changes what another may do, so that one order of execution stands for all.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

struct Fault {
    int team = 0;
    std::size_t position = 0;  // in the team's program; its length: what is missing at its end
    // "team 1 is stuck at 2RECV_B0, its 7th instruction; team 0 is stuck at ..."; names the instructions.
    std::string what;
};

struct Proof {
    std::vector<int> peak_activations;  // per team: micro-batches kept at most, counted over its stages
    std::vector<std::vector<int>> peak_of_stage;    // per team and stage: likewise, of that stage alone
    std::vector<int> peak_gradients;                // per team: steps whose gradients it has at once, at most
    std::vector<std::vector<int>> weight_versions;  // per team and stage: likewise of weights; 0: not held
};

struct Verdict {
    std::optional<Fault> fault;  // the first found; none: the programs are proved
    Proof proof;                 // where there is no fault

    bool is_proved() const { return !fault; }
};

// An activation is kept from the F of a stage to the B, or the W, of it; in forward-only programs to the end of
// the F. (What a posted receive holds before the F is counted by the slots.) A team has gradients of a step
// from its first B, I or REDUCE of the step until it has updated all its stages; old weights of a stage until
// their last use. Memory for both is used in turn: from the oldest that it has to the newest, those of all
// steps count.
Verdict check(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
