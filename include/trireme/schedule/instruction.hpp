// What a rank is told to do, as data: instructions in order make a program.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::schedule {

// Letters as in torch.distributed.pipelining; 2 is the stage, 0 the micro-batch. Behind F, B, I and W, @1 says
// that weights are used as they were one update ago.
//   2F0        forward
//   2B0        whole backward; or its two halves:
//   2I0        gradient of the input
//   2W0        gradient of the weights
//   2SEND_F0   starts to send what 2F0 gave to whoever executes 3F0
//   2RECV_F0   posts the receive of what 2F0 reads
//   2SEND_B0   starts to send what 2B0 or 2I0 gave to whoever executes 1B0
//   2RECV_B0   posts the receive of what 2B0 or 2I0 reads
//   REDUCE2    starts to sum the gradients of stage 2 over all that hold it
//   STEP2      updates the parameters of stage 2; waits for the gradients of all stages, whose norm it needs,
//   or
//              where updates are validated for those of its own stage, and guesses what the norm will say
//   VALIDATE2  waits for the gradients of all stages; where the guess was wrong, all that came behind it is
//   done again
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

inline constexpr int no_microbatch = -1;  // of reduce, step and validate

struct Instruction {
    Op op = Op::forward;
    int stage = 0;
    int microbatch = no_microbatch;
    int age = 0;  // of the weights: 0 or more updates; of compute instructions, others have 0

    friend bool operator==(const Instruction&, const Instruction&) = default;
};

using Program = std::vector<Instruction>;

bool is_compute(Op op);  // forward, backward and its halves
bool is_send(Op op);
bool is_receive(Op op);
bool has_microbatch(Op op);

std::string to_string(const Instruction& instruction);  // "2SEND_F0"
std::string to_string(const Program& program);          // "0F0 0SEND_F0 ...": separated by spaces

// Throws ConfigError for a text that is no instruction; `place` ("line 3 of my.csv") begins the message.
Instruction parse_instruction(std::string_view text, const std::string& place);

}  // namespace trireme::schedule
