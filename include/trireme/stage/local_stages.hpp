// Executes the instructions of a pipeline engine for all stages of one rank. Holds the weights and gradients of
// these stages, and the buffers of passes and messages.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/device/clock_setter.hpp"
#include "trireme/pipeline/stage_worker.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/ghost_passes.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/local_work.hpp"
#include "trireme/stage/pass_buffers.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

class LocalStages final : public pipeline::StageWorker {
public:
    // `group` is the tensor-parallel group, or null if the team is one rank. `group` must outlive this object.
    // `values` is that of LocalParameters.
    LocalStages(const LocalWork& work, comm::Communicator* group, device::MemorySpace memory_space,
                std::optional<model::ParameterTensors> values = {});
    ~LocalStages() override;

    const LocalParameters& parameters() const { return parameters_; }
    LocalParameters& parameters() { return parameters_; }

    // Sets the gradient exchanges, one per copy of the gradients. Null means no exchanges. Backward passes
    // start the transfers as gradients become complete. The exchanges must outlive every execution.
    void set_gradient_exchanges(std::vector<GradientExchange>* exchanges) { exchanges_ = exchanges; }
    // Sets a function that is called after each layer, forward and backward, to progress messages.
    void set_after_layer_callback(std::function<void()> call) { events_.after_layer = std::move(call); }

    bool trains_any_stage() const { return std::ranges::any_of(stages_, &Stage::is_trained); }
    // Calls Stage::rebalance() for all stages.
    void rebalance(const model::Rebalancing& rebalancing);
    // Sets the variant of passes, and the limit and the sizes of buffers, to those of `work`. Called while no
    // micro-batch is in flight.
    void change_memory(const LocalWork& work);
    PassBuffers& buffers() { return buffers_; }

    // Makes this ghost rank charge later passes as a whole: see ghost_passes.hpp. `shared_times` may be null.
    void charge_passes_as_whole(std::shared_ptr<PassTimes> shared_times) {
        ghosts_ = std::make_unique<GhostPasses>(buffers_.workspace(), std::move(shared_times));
    }
    GhostPasses* ghosts() const { return ghosts_.get(); }  // null if every pass runs kernel by kernel
    // Collective over the team. Calls GhostPasses::rehearse() with `batch`; ghosts() must not be null.
    void rehearse(device::Stream& stream, const model::TokenBatch& batch, bool splits_backward);

    // Begins an execution. Called before the first instruction of the execution. `stream`, `execution` and the
    // objects to which they refer must outlive the execution.
    void begin(device::Stream& stream, const Execution& execution);
    // Adds the micro-batches of the next step of the execution; the first call adds step 0. Called before the
    // first instruction of that step runs. A step that is never added has empty micro-batches.
    void add_step(StepWork work);
    // Returns true if all stages have executed the REDUCE of a step, and the gradient exchange of this step is
    // finished. Returns false without exchanges.
    bool has_reduced_gradients(int step) const;
    // Return the losses that the last stage has computed, by index of the micro-batch in the step. Empty if the
    // last stage is on other ranks. The step must have been added. take_outcomes() also forgets the step.
    const std::map<int, model::LossState>& outcomes(int step) const;
    std::map<int, model::LossState> take_outcomes(int step);
    // Returns the index of the copy that holds the gradients of a step.
    std::size_t find_gradient_copy(int step) const {
        return static_cast<std::size_t>(step) % parameters_.copy_counts().gradients;
    }

    std::size_t count_rows(int microbatch) const override;
    device::Tensor provide_receive_buffer(const schedule::Instruction& receive) override;
    device::ConstTensor find_send_buffer(const schedule::Instruction& send) override;
    void finish_send(const schedule::Instruction& send) override;
    void run(const schedule::Instruction& instruction) override;
    void set_clock(int mhz) override { stream_->clock_setter->set_clock(mhz, *stream_); }

    void synchronize() override { stream_->synchronize(); }
    bool validate_update(const schedule::Instruction& validate) override;
    void discard_forward(const schedule::Instruction& forward) override;

    // Returns the memory that the buffers of passes and messages have used since begin(): the end of the
    // highest tensor. 0 in MemorySpace::ghost.
    std::size_t peak_bytes() const { return buffers_.peak_bytes(); }

private:
    struct InFlightMicrobatch;        // the tensors of an in-flight micro-batch in one stage
    struct StepState;                 // the state of a step that was added and is not forgotten
    using Key = std::pair<int, int>;  // stage, and micro-batch numbered over all steps

    void forward(const schedule::Instruction& instruction);
    void backward(const schedule::Instruction& instruction);
    void reduce(int stage);
    void step(int stage);

    const Stage& find_stage(int stage_index) const;
    // Returns true if this team executes the micro-batch in the stage.
    bool is_executed_here(int stage, int microbatch) const {
        return execution_->shape.find_executor(stage, microbatch) == work_.team;
    }
    int find_step(const schedule::Instruction& instruction) const {
        return execution_->shape.find_step(instruction.microbatch);
    }
    std::size_t find_index_in_step(int microbatch) const {
        return static_cast<std::size_t>(microbatch % execution_->shape.microbatches);
    }
    model::Pass make_pass(int microbatch);
    device::ConstTensor find_input(const schedule::Instruction& instruction);
    device::ConstTensor find_grad_output(const schedule::Instruction& instruction);
    device::Tensor take_grad_input(const schedule::Instruction& instruction);
    // `is_last` is true for the last backward pass of its stage in the step.
    void set_gradient_callback(int step, bool is_last);
    std::size_t find_weight_copy(const schedule::Instruction& instruction) const;
    ActivationStash& prepare_stash_for_backward(const schedule::Instruction& instruction);
    void record_outcome(int microbatch, const Stage& last, const ActivationStash& stash);
    void clear_gradient_copies(int step);
    void finish_untrained_pass(const schedule::Instruction& forward, InFlightMicrobatch& in_flight);
    void release_output(int stage, int microbatch);
    void finish_backward(const schedule::Instruction& instruction);
    void compute(const schedule::Instruction& instruction);
    void erase_if_done(const Key& key);
    void complete_parameters(int step, const std::vector<std::size_t>& parameters);

    LocalWork work_;
    std::vector<Stage> stages_;
    LocalParameters parameters_;
    PassBuffers buffers_;
    std::unique_ptr<model::TensorGroup> group_;
    std::unique_ptr<GhostPasses> ghosts_;  // null if every pass runs kernel by kernel
    std::vector<GradientExchange>* exchanges_ = nullptr;
    PassEvents events_;
    std::vector<std::size_t> uses_per_parameter_;  // per parameter: number of layers of this rank that use it

    // State of the current execution.
    device::Stream* stream_ = nullptr;
    const Execution* execution_ = nullptr;
    std::map<Key, InFlightMicrobatch> in_flight_;
    std::map<int, StepState> steps_;  // by step
    int steps_added_ = 0;
    int cleared_steps_ = 0;                // number of steps whose gradient copy has been cleared
    int executed_updates_ = 0;             // number of updates in this execution
    std::map<int, int> executed_reduces_;  // per stage: executed REDUCEs
    std::map<int, int> executed_steps_;    // per stage: executed STEPs
    int validated_updates_ = 0;            // number of executed updates that have been validated
};

}  // namespace trireme::stage
