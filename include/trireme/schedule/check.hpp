// Proves that programs are correct, or finds a fault. All programs are executed abstractly, with the meaning
// that the engine gives them:
//
// - A send starts a message and a receive posts its buffer; neither waits for the other team. A channel (source
//   team, destination team, activation or gradient) pairs its messages in order: the k-th send with the k-th
//   receive. It is a fault if a send and its receive name different micro-batches or stages ("messages cross").
// - Each end of a channel has `slots` buffers. At the destination, posting a receive waits for a free buffer
//   and takes the buffer; the compute instruction that reads the message frees the buffer. At the source, the
//   compute instruction that produces a result waits for a free buffer and takes the buffer. The buffer is free
//   again when the message was sent and its receive was posted.
// - A compute instruction (F, B, I or W: see instruction.hpp) waits for its inputs, which belong to the same
//   micro-batch. F of stage s > 0 needs the output of F of stage s - 1, which came by message or was computed
//   earlier by the same team. B and I of stage s need F of stage s by the same team, and the gradient from B
//   or I of stage s + 1 if that stage exists. W needs I. If one team executes stages s and s + 1, the B or W
//   of stage s follows the B or W of stage s + 1. The reason is that the backward of stage s + 1 reads the
//   output of stage s, of which there is one copy.
// - Programs cover one step, or several steps whose micro-batches are numbered consecutively. A team's k-th
//   REDUCE of a stage and its k-th STEP of the stage belong to the k-th step.
// - REDUCE of a stage follows all backward work of the team in that stage and step. REDUCE waits for no other
//   team. Teams that hold the same stages reduce them in the same order, over all steps.
// - STEP follows the team's REDUCE of that stage and step. STEP waits until every team has reached, in that
//   step, the REDUCEs of all its stages and one of its STEPs. If stages are updated independently, STEP waits
//   until all holders of the stage have reached their REDUCE and STEP of the stage. This rule has a
//   consequence: no instruction before a team's STEP may depend on an instruction that follows the STEP of
//   another team, because the two teams would wait for each other.
// - If updates are speculative, STEP waits only until the holders of its stage have reached their REDUCE of the
//   stage and one of their STEPs of that step. If the first and the last stage share a tensor, the STEP of
//   either stage waits for the holders of both. STEP guesses that the global gradient norm requires neither
//   clipping nor skipping. VALIDATE waits until all teams have reached the REDUCEs of all their stages in that
//   step. A team's k-th VALIDATE of a stage belongs to the k-th step. In a program, the STEPs of a step are
//   adjacent, and the VALIDATEs of a step are adjacent. Only forwards of the next step and their messages may
//   stand between the STEPs and the VALIDATEs of a step. All other work of a step stands between the VALIDATEs
//   of the previous step and the STEPs of its own step. All ages (see below) are 0.
// - If the guess was wrong, all teams learn this at their VALIDATEs. They roll the update back, redo it
//   correctly, and repeat the instructions between STEPs and VALIDATEs, messages included. So the send, the
//   receive and the reader of a message must either all stand between STEPs and VALIDATEs, or all stand
//   elsewhere. (At its VALIDATE a team has read all messages that were sent to it. Therefore all buffers that
//   were free after its STEPs are free again, and the repetition cannot deadlock.)
// - A compute instruction with age a uses the weights of its stage as they were a updates ago, or the
//   initial weights if there were fewer updates. Forward and backward of a micro-batch in a stage use the
//   same weights. All stages use the same version of weights for a micro-batch, unless stages are updated
//   independently.
// - Every micro-batch passes every stage once, forward and in training also backward (B, or I and then W). The
//   team that the shape names as executor does the work. In training, the program of a team has one REDUCE and
//   one STEP per step and held stage, and one VALIDATE if updates are speculative. Every send has a receive,
//   and every receive has a send.
// - Frozen stages only run forward: they have no B, I, W, REDUCE, STEP or VALIDATE, and receive no gradient.
//   Their weights have no versions. If there are frozen stages, updates are not speculative.
// - CLOCK waits for nothing, and may stand anywhere. If a program sets clocks, a CLOCK stands before its first
//   pass, and before its first pass after a STEP or VALIDATE.
// - No team has more micro-batches in flight than PipelineShape::max_activations permits.
//
// An instruction that can be executed stays executable, whatever the other teams execute. So it suffices to
// execute the programs in one order of the teams.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::schedule {

// The reason why programs are not correct.
struct Fault {
    int team = 0;  // the team whose program has the fault
    // Position in the team's program, from 0; the length of the program if an instruction is missing.
    std::size_t position = 0;
    // Describes the fault, for example "team 1 is stuck at 2RECV_B0, which waits for ...; team 0 is stuck at
    // ...".
    std::string what;
};

// Numbers that verify_programs() counts in correct programs. The comment of verify_programs() defines these
// numbers.
struct Proof {
    // Per team: the largest number of in-flight micro-batches, summed over the stages of the team.
    std::vector<int> peak_activations;
    // Per team and stage: the largest number of in-flight micro-batches of the team in that stage.
    std::vector<std::vector<int>> peak_activations_of_stage;
    // Per team: the largest number of steps whose gradients the team holds at once.
    std::vector<int> peak_gradients;
    // Per team and stage: the largest number of weight versions that the team holds at once; 0 if the team does
    // not hold the stage.
    std::vector<std::vector<int>> weight_versions;
};

struct Verdict {
    std::optional<Fault> fault;  // the first fault found; empty if the programs are correct
    Proof proof;                 // valid if there is no fault

    bool is_proved() const { return !fault; }
};

// Checks all programs of a shape, one per team. Throws BugError if the shape contradicts itself.
//
// A micro-batch is in flight in a stage, and its activations are stored, from the F of the stage to its B or W;
// in frozen stages and forward-only programs to the end of the F. (The slots of the channel account for the
// buffers of posted receives.) A team holds gradients of a step from its first B, I or REDUCE of the step until
// it has updated all its trained stages. A team holds a version of the weights of a stage until the last use of
// that version. The buffers of gradients and of weight versions are reused cyclically. So the peaks count all
// steps, or versions, from the oldest one held to the newest.
Verdict verify_programs(const std::vector<Program>& programs, const PipelineShape& shape);

}  // namespace trireme::schedule
