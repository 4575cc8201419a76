// What an engine drives: the stages of one rank, as far as a program can tell.
#pragma once

#include <cstddef>

#include "trireme/device/tensor.hpp"
#include "trireme/schedule/instruction.hpp"

namespace trireme::pipeline {

class StageWorker {
public:
    virtual ~StageWorker() = default;

    // Of the micro-batch, on all ranks of a team together. One without rows sends no messages.
    virtual std::size_t rows(int microbatch) const = 0;

    // Memory for what a receive brings, contiguous: (own rows, width). Asked once, when it is posted.
    virtual device::Tensor place_for(const schedule::Instruction& receive) = 0;

    // What a send carries, contiguous: (own rows, width). It stays as it is until sent() has been called.
    virtual device::ConstTensor result_for(const schedule::Instruction& send) = 0;
    virtual void sent(const schedule::Instruction& send) = 0;

    // A compute instruction whose inputs are there, REDUCE or STEP.
    virtual void run(const schedule::Instruction& instruction) = 0;
    // Until all that was run is done: a GPU does it behind the processor's back.
    virtual void settle() {}

    // VALIDATE: whether the update that went ahead is right; one that is not has been made anew.
    virtual bool stands(const schedule::Instruction& validate) = 0;
    // Forgets a forward, which will be run again with other weights. Its messages are complete.
    virtual void undo(const schedule::Instruction& forward) = 0;
};

}  // namespace trireme::pipeline
