// The instructions that the ranks of a team execute, as data. A program is the list of instructions of one
// team.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::schedule {

// The operations and their text form, with the letters of torch.distributed.pipelining. In the examples the
// stage is 2, the micro-batch 0 and the clock 900 MHz. The suffix @1 of F, B, I and W (2F0@1) means that the
// instruction uses the weights of one update ago.
//   2F0        forward
//   2B0        complete backward pass; 2I0 and 2W0 are its two halves
//   2I0        gradient of the input (input half)
//   2W0        gradient of the weights (weight half)
//   2SEND_F0   starts to send the output of 2F0 to the team that executes 3F0
//   2RECV_F0   posts the receive of the input of 2F0
//   2SEND_B0   starts to send the result of 2B0 or 2I0, a gradient, to the team that executes 1B0 or 1I0
//   2RECV_B0   posts the receive of the gradient that 2B0 or 2I0 reads
//   REDUCE2    starts the reduction of the gradients of stage 2 over all teams that hold stage 2
//   STEP2      updates the parameters of stage 2. Waits for the reduced gradients of all stages, from which
//              the global gradient norm is computed. If stages are updated independently, waits for the
//              gradients of stage 2 only. If updates are speculative, waits for the gradients of stage 2
//              only, and guesses that the norm requires neither clipping nor skipping
//   VALIDATE2  waits for the reduced gradients of all stages. If the guess of STEP2 was wrong, the update is
//              rolled back and redone, and the work since the update is repeated
//   CLOCK900   sets the clock of the devices of the team, which stays in force until the next CLOCK
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
    validate,
    set_clock
};

inline constexpr int no_microbatch = -1;  // for reduce, step, validate and set_clock

struct Instruction {
    Op op = Op::forward;
    int stage = 0;                   // 0 for set_clock
    int microbatch = no_microbatch;  // numbered over all steps of the program, from 0
    int age = 0;  // age, in updates, of the weights that a compute instruction uses; 0 for other operations
    int mhz = 0;  // clock that set_clock sets; 0 for other operations

    friend auto operator<=>(const Instruction&, const Instruction&) = default;
};

using Program = std::vector<Instruction>;

bool is_compute(Op op);  // forward, backward and the halves of a backward
bool is_send(Op op);
bool is_receive(Op op);
bool has_microbatch(Op op);  // all but reduce, step, validate and set_clock
bool has_stage(Op op);       // all but set_clock

std::string to_string(const Instruction& instruction);  // "2SEND_F0"
std::string to_string(const Program& program);          // "0F0 0SEND_F0 ...", separated by spaces

// Throws ConfigError if the text is not an instruction; the message begins with `location`, for example "line 3
// of my.csv".
Instruction parse_instruction(std::string_view text, const std::string& location);

}  // namespace trireme::schedule
