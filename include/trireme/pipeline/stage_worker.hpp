// The interface through which an engine drives the stages of one rank.
#pragma once

#include <cstddef>

#include "trireme/device/tensor.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::pipeline {

class StageWorker {
public:
    virtual ~StageWorker() = default;

    // Returns the rows of the micro-batch over all ranks of a team. An empty micro-batch sends no messages.
    virtual std::size_t rows(int microbatch) const = 0;

    // Returns contiguous memory for a received tensor: (own rows, width). Called once, when the receive is
    // posted.
    virtual device::Tensor place_for(const schedule::Instruction& receive) = 0;

    // Returns the contiguous tensor to send: (own rows, width). It must not change before sent() is called.
    virtual device::ConstTensor result_for(const schedule::Instruction& send) = 0;
    virtual void sent(const schedule::Instruction& send) = 0;

    // Executes a compute instruction whose inputs have arrived, a REDUCE or a STEP.
    virtual void run(const schedule::Instruction& instruction) = 0;
    // Waits until all instructions that were run are done; a GPU executes them asynchronously.
    virtual void settle() {}

    // Executes a VALIDATE. Returns true if the speculative update was valid; otherwise it has been redone.
    virtual bool stands(const schedule::Instruction& validate) = 0;
    // Discards a forward, which will be run again with other weights. Its messages are complete.
    virtual void undo(const schedule::Instruction& forward) = 0;
};

}  // namespace trireme::pipeline
