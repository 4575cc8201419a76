// The instructions of a rank as data. A program is a list of instructions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::schedule {

// Letters are those of torch.distributed.pipelining. In the examples the stage is 2 and the micro-batch 0.
// After F, B, I and W, @1 means that the weights of one update ago are used.
//   2F0        forward
//   2B0        whole backward; or its two halves:
//   2I0        gradient of the input
//   2W0        gradient of the weights
//   2SEND_F0   starts to send the result of 2F0 to the executor of 3F0
//   2RECV_F0   posts the receive of the input of 2F0
//   2SEND_B0   starts to send the gradient that 2B0 or 2I0 made to the executor of 1B0
//   2RECV_B0   posts the receive of the gradient that 2B0 or 2I0 reads
//   REDUCE2    starts to sum the gradients of stage 2 over all its holders
//   STEP2      updates the parameters of stage 2. It waits for the gradients of all stages, whose norm it
//              needs. If updates are validated, it waits for those of its own stage and guesses what the norm
//              will require
//   VALIDATE2  waits for the gradients of all stages; if the guess was wrong, the work since the update is
//              repeated
enum class Op : std::uint8_t {
    forward,
    backward,
    backward_input,
    backward_weight,
    send_forward,
    receive_forward,
    send_backward,
    receive_backward,
    reduce,
    step,
    validate
};

inline constexpr int no_microbatch = -1;  // for reduce, step and validate

struct Instruction {
    Op op = Op::forward;
    int stage = 0;
    int microbatch = no_microbatch;
    int age = 0;  // of the weights, in updates; 0 for instructions that do not compute

    friend bool operator==(const Instruction&, const Instruction&) = default;
};

using Program = std::vector<Instruction>;

bool is_compute(Op op);  // forward, backward and its halves
bool is_send(Op op);
bool is_receive(Op op);
bool has_microbatch(Op op);

std::string to_string(const Instruction& instruction);  // "2SEND_F0"
std::string to_string(const Program& program);          // "0F0 0SEND_F0 ...", separated by spaces

// Throws ConfigError if the text is no instruction; the message begins with `place` ("line 3 of my.csv").
Instruction parse_instruction(std::string_view text, const std::string& place);

}  // namespace trireme::schedule
