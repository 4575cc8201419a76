// All stages of one rank, driven by a pipeline engine. Holds their parameters and the activation stash of each
// in-flight micro-batch.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/pipeline/stage_worker.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/flight_pool.hpp"
#include "trireme/stage/ghost_passes.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/local_work.hpp"
#include "trireme/stage/row_buffers.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

class LocalStages final : public pipeline::StageWorker {
public:
    // `group` is the tensor team, or null if the team is one rank; it outlives this.
    LocalStages(const LocalWork& work, comm::Communicator* group, bool cuts_rows, device::MemorySpace place);
    ~LocalStages() override;

    const LocalParameters& parameters() const { return parameters_; }
    LocalParameters& parameters() { return parameters_; }

    // Sets the exchanges, one per copy of the gradients, that are notified of complete gradients in training
    // programs; null for none. They outlive every execution.
    void sum_with(std::vector<GradientExchange>* exchanges) { exchanges_ = exchanges; }
    // Sets a function that is called after each layer, forward and backward, to progress messages.
    void call_now_and_then(std::function<void()> call) { events_.after_layer = std::move(call); }

    // Makes all later training passes rebalance the projections of all stages.
    void rebalance(const model::Rebalancing& rebalancing);
    // Replaces the memory of passes; called while no micro-batch is in flight.
    void work_in(const StageMemory& memory);
    // Allocates flights and row buffers up to these numbers; called while no micro-batch is in flight. More are
    // allocated on demand.
    void reserve(std::size_t flights, std::size_t row_buffers) {
        flights_.reserve(flights);
        rows_.reserve(row_buffers);
    }

    // Charges all later passes of this ghost rank as a whole: see GhostPasses.
    void charge_whole_passes(std::shared_ptr<PassTimes> shared) {
        ghosts_ = std::make_unique<GhostPasses>(workspace_, std::move(shared));
    }
    GhostPasses* ghosts() const { return ghosts_.get(); }  // null if every pass is computed
    // Collective over the team. Calls GhostPasses::rehearse() with `batch`; ghosts() is not null.
    void rehearse(device::Stream& stream, const model::TokenBatch& batch, bool in_halves);

    // Begins a round; called before its programs run. `round` and what it refers to outlive the execution.
    void begin(device::Stream& stream, const Round& round);
    // Adds the work of steps 0, 1, ... of the round, each before its first instruction runs. Micro-batches of
    // steps that have not been added are empty.
    void add_step(StepWork work);
    // Returns true if all stages have been reduced for a step and the sums have arrived.
    bool has_summed(int step) const;
    // Return the results of the last stage so far, per micro-batch of a step; empty if it is on other ranks.
    // take_outcomes() forgets the step.
    const std::map<int, model::LossState>& outcomes(int step) const;
    std::map<int, model::LossState> take_outcomes(int step);
    // Returns the copy that holds the gradients of a step.
    std::size_t gradients_of(int step) const {
        return static_cast<std::size_t>(step) % parameters_.copies().gradients;
    }

    std::size_t rows(int microbatch) const override;
    device::Tensor place_for(const schedule::Instruction& receive) override;
    device::ConstTensor result_for(const schedule::Instruction& send) override;
    void sent(const schedule::Instruction& send) override;
    void run(const schedule::Instruction& instruction) override;
    void settle() override { stream_->settle(); }
    bool stands(const schedule::Instruction& validate) override;
    void undo(const schedule::Instruction& forward) override;

    // Bytes of the flights and row buffers that have been allocated.
    std::size_t peak_bytes() const { return flights_.bytes() + rows_.count() * rows_.bytes_each(); }

private:
    struct Passage;                   // an in-flight micro-batch in a stage
    struct StepState;                 // a step in progress
    using Key = std::pair<int, int>;  // stage, micro-batch

    void forward(const schedule::Instruction& instruction);
    void backward(const schedule::Instruction& instruction);
    void reduce(int stage);
    void step(int stage);

    const Stage& stage(int number) const;
    bool is_here(int stage, int microbatch) const {  // true if this team executes it
        return round_->shape.executor_of(stage, microbatch) == work_.team;
    }
    int step_of(const schedule::Instruction& instruction) const {
        return round_->shape.step_of(instruction.microbatch);
    }
    model::Pass pass_of(int microbatch);
    device::ConstTensor input_of(const schedule::Instruction& instruction);
    device::ConstTensor grad_output_of(const schedule::Instruction& instruction);
    device::Tensor grad_input_of(const schedule::Instruction& instruction);
    bool leaves_gradients(const schedule::Instruction& backward) const;
    void listen(const schedule::Instruction& backward);
    std::size_t weights_of(const schedule::Instruction& instruction) const;
    Flight& flight_for_backward(const schedule::Instruction& instruction);
    void note_outcome(int microbatch, const Stage& last, const Flight& flight);
    void open_gradients(int step);
    void finish_forward(const schedule::Instruction& instruction, Passage& passage);
    void release_inputs(const schedule::Instruction& instruction);
    void give_back(device::Tensor& place);
    void release_flight(Passage& passage);
    void forget_if_over(const Key& key);
    void leave(int step, const std::vector<std::size_t>& parameters);

    LocalWork work_;
    std::vector<Stage> stages_;
    LocalParameters parameters_;
    Workspace workspace_;
    RowBuffers rows_;
    FlightPool flights_;
    std::unique_ptr<model::TensorGroup> group_;
    std::unique_ptr<GhostPasses> ghosts_;  // null if every pass is computed
    device::MemorySpace place_;
    std::vector<GradientExchange>* exchanges_ = nullptr;
    PassEvents events_;

    // State of the current round.
    device::Stream* stream_ = nullptr;
    const Round* round_ = nullptr;
    std::vector<std::size_t> all_uses_;  // per parameter: number of layers of this rank that use it
    std::map<Key, Passage> passages_;
    std::map<int, StepState> steps_;  // added and not yet forgotten
    int steps_added_ = 0;
    int gradients_opened_ = 0;         // number of steps that have got a copy of the gradients
    int updates_ = 0;                  // number of updates
    std::map<int, int> reduces_made_;  // per stage: executed REDUCEs
    std::map<int, int> steps_made_;    // per stage: executed STEPs
    int validated_ = 0;                // number of updates that have been validated
};

}  // namespace trireme::stage
