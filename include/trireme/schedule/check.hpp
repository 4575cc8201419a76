// Proves that programs are correct, or finds a fault. All programs are executed abstractly, with the meaning
// that the engine gives them:
//
// - A send starts a message and a receive posts its buffer; neither waits for the other side. Messages of a
//   channel (source team, destination team, activation or gradient) pair in order: the k-th send with the k-th
//   receive. A pair that names different micro-batches or stages is crossed.
// - Each end of a channel has `slots` buffers. At the destination a receive waits for a free buffer and takes
//   it when it is posted; the compute instruction that reads it frees it. At the source the compute instruction
//   that makes a result waits for a free buffer and takes it. The message frees it when it is complete: sent,
//   and its receive posted.
// - A compute instruction waits for its inputs. F of stage s needs the result of F of stage s - 1, which came
//   by message or was made earlier by the same team. B and I need F of the same team, and the gradient from
//   stage s + 1 (B or I there) if that stage exists. W needs I. The B or W that frees the activations of stage
//   s comes after that of stage s + 1 if the same team executes both: the output of stage s has one copy.
// - Programs cover one step, or several whose micro-batches are numbered consecutively. A team's k-th REDUCE of
//   a stage and its k-th STEP belong to the k-th step.
// - REDUCE of a stage needs all backward work of the step by the team in that stage. It waits for no other
//   team. Teams that hold several stages in common reduce them in the same order, over all steps.
// - STEP needs the team's REDUCE of that stage and step. It waits until all teams have reached their REDUCEs of
//   all their stages, and a STEP of that step. If stages are updated alone, it waits until all holders of the
//   stage have reached their REDUCE and STEP of the stage. (A reduction progresses while its teams compute or
//   wait at a STEP, but not while one waits for a message. So nothing before a team's STEP may need what other
//   teams do after theirs.)
// - If updates are validated, STEP waits for the holders of its stage only: until they have reached their
//   REDUCEs of the stage and a STEP of that step. If the first and the last stage share a tensor, the STEP of
//   either waits for the holders of both. STEP guesses what the norm of all gradients will require. VALIDATE
//   waits until all teams have reached their REDUCEs of all their stages. A team's k-th VALIDATE of a stage
//   belongs to the k-th step. The STEPs of a step are adjacent in a program, and so are its VALIDATEs. Only
//   forwards of the next step and their messages may stand between the two groups. All other work of a step
//   stands between the VALIDATEs before it and its own STEPs. All ages are 0.
// - If the guess was wrong, all teams find out at their VALIDATEs. They roll the update back, redo it
//   correctly, and repeat what stands between STEPs and VALIDATEs, messages included. So a message is sent
//   there if and only if it is also received and read there. (At its VALIDATE a team has read all messages that
//   were sent to it. Its buffers are as after its STEPs or freer, so that the repetition cannot get stuck.)
// - A compute instruction with age a uses the stage's weights as they were a updates ago, or the initial
// weights
//   if there were fewer updates. Both passes of a micro-batch through a stage use the same weights; so do all
//   stages, unless they are updated alone.
// - Every micro-batch passes every stage once, forward and backward (B, or I and then W), at its executor. A
//   training program reduces and steps every stage that it holds once per step, and also validates it if
//   updates are validated. No send is left without a receive.
//
// The order in which teams execute never changes what another team may do next, so that one order of execution
// stands for all.
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
    std::size_t position = 0;  // in the team's program; its length if something is missing at its end
    // "team 1 is stuck at 2RECV_B0, which waits for ...; team 0 is stuck at ..."; names the instructions.
    std::string what;
};

struct Proof {
    std::vector<int> peak_activations;              // per team: most micro-batches kept, summed over its stages
    std::vector<std::vector<int>> peak_of_stage;    // per team and stage: most kept of that stage
    std::vector<int> peak_gradients;                // per team: most steps whose gradients it holds at once
    std::vector<std::vector<int>> weight_versions;  // per team and stage: most versions at once; 0 if not held
};

struct Verdict {
    std::optional<Fault> fault;  // the first one found; empty if the programs are proved
    Proof proof;                 // valid if there is no fault

    bool is_proved() const { return !fault; }
};

// Checks all programs of a shape. Throws BugError if the shape contradicts itself.
//
// An activation is kept from the F of a stage to its B or W; in forward-only programs to the end of the F. (The
// buffer of a posted receive is counted by the slots.) A team holds gradients of a step from its first B, I or
// REDUCE of the step until it has updated all its stages. It holds old weights of a stage until their last use.
// The memory for both is reused cyclically: all steps from the oldest one held to the newest count.
Verdict check(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
