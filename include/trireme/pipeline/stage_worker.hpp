// The interface through which an engine drives the stages of one rank.
#pragma once

#include <cstddef>

#include "trireme/device/tensor.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::pipeline {

// Computes the instructions that the engine passes to it, and owns all tensors.
class StageWorker {
public:
    virtual ~StageWorker() = default;

    // Returns the number of rows (tokens) of micro-batch `microbatch`, over all ranks of a team. If the number
    // is 0, the engine skips all instructions of the micro-batch, including its messages.
    virtual std::size_t count_rows(int microbatch) const = 0;

    // Returns contiguous memory for the tensor that `receive` receives, of shape (rows of this rank, width).
    // The engine calls this function once per receive, when it posts the receive.
    virtual device::Tensor provide_receive_buffer(const schedule::Instruction& receive) = 0;

    // Returns the contiguous tensor that `send` sends, of shape (rows of this rank, width). The tensor must not
    // change before the engine calls finish_send() for this send.
    virtual device::ConstTensor find_send_buffer(const schedule::Instruction& send) = 0;
    // Called when the message of `send` is complete.
    virtual void finish_send(const schedule::Instruction& send) = 0;

    // Executes a REDUCE, a STEP, or a compute instruction. The inputs of a compute instruction have arrived.
    virtual void run(const schedule::Instruction& instruction) = 0;
    // Sets the clock of the device for the instructions that follow.
    virtual void set_clock(int mhz) = 0;
    // Waits until all instructions that were passed to run() are done. A GPU executes them asynchronously.
    virtual void synchronize() {}

    // Executes a VALIDATE. Returns true if the speculative update was valid. Otherwise rolls the update back,
    // redoes the update and returns false.
    virtual bool validate_update(const schedule::Instruction& validate) = 0;
    // Discards the result of a forward, because the engine will run the forward again with other weights.
    // Called when the messages of the forward are complete.
    virtual void discard_forward(const schedule::Instruction& forward) = 0;
};

}  // namespace trireme::pipeline
