// All stages of one rank: what an engine drives. Holds their parameters, and of each micro-batch on its way
// what its backward pass needs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/pipeline/stage_worker.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/stage/gradient_exchange.hpp"
#include "trireme/stage/row_buffers.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme {

// What a rank has been given.
struct LocalWork {
    ModelConfig model;
    std::vector<int> stages = {};       // ascending
    std::vector<StageSpec> specs = {};  // of each of them
    int team = 0;
    DType dtype = DType::f32;
    StageMemory memory = {};    // the largest of its stages
    std::size_t most_rows = 0;  // of its own, of a micro-batch
};

// One execution of a program.
struct Round {
    const PipelineShape& shape;
    const Program& program;
    std::vector<const TokenBatch*> batches;  // per micro-batch; none where it is empty
    RandomKey dropout_key = {};
    double loss_scale = 1;
    double label_smoothing = 0;
    std::function<void()> update = {};  // the parameters of all stages, at the first STEP
};

class LocalStages final : public StageWorker {
public:
    // `group` (or none, where the team is one rank) outlives it.
    LocalStages(const LocalWork& work, Communicator* group, bool cuts_rows, Place place);
    ~LocalStages() override;

    const LocalParameters& parameters() const { return parameters_; }

    // Told which gradients are complete while a training program runs; outlives every execution, or none.
    void sum_with(GradientExchange* exchange) { exchange_ = exchange; }
    // Called behind each forward pass and each layer's backward pass, so that messages go on meanwhile.
    void call_now_and_then(std::function<void()> call) { progress_ = std::move(call); }

    // Before a program is executed; `round` outlives the execution.
    void begin(Stream& stream, const Round& round);
    // What the last stage, if it is here, made of each of its micro-batches.
    const std::map<int, LossState>& outcomes() const { return outcomes_; }

    std::size_t rows(int micro_batch) const override;
    Tensor place_for(const Instruction& receive) override;
    ConstTensor result_for(const Instruction& send) override;
    void sent(const Instruction& send) override;
    void run(const Instruction& instruction) override;

    // Bytes of flights and row buffers that were in use at most.
    std::size_t peak_bytes() const;

private:
    struct Passage;                   // a micro-batch in a stage
    using Key = std::pair<int, int>;  // stage, micro-batch

    void forward(const Instruction& instruction);
    void backward(const Instruction& instruction);
    void backward_input(const Instruction& instruction);
    void backward_weight(const Instruction& instruction);
    void reduce(int stage);
    void step();

    const Stage& stage(int number) const;
    bool is_here(int stage, int micro_batch) const;  // whether this team executes it
    Pass pass_of(int micro_batch);
    ConstTensor input_of(const Instruction& instruction);
    ConstTensor grad_output_of(const Instruction& instruction);
    Tensor grad_input_of(const Instruction& instruction, Passage& passage);
    LayerLeft listener(const Instruction& instruction);
    void finish_forward(const Instruction& instruction, Passage& passage);
    void release_inputs(const Instruction& instruction);
    void give_back(const Tensor& place);
    void release_flight(Passage& passage);
    void leave(const std::vector<std::size_t>& parameters);

    LocalWork work_;
    std::vector<Stage> stages_;
    LocalParameters parameters_;
    Workspace workspace_;
    RowBuffers rows_;
    std::vector<std::unique_ptr<Flight>> free_flights_;
    std::size_t flights_made_ = 0;
    std::unique_ptr<TensorGroup> group_;
    Place place_;
    GradientExchange* exchange_ = nullptr;
    std::function<void()> progress_ = [] {};

    // Of the program that is being executed.
    Stream* stream_ = nullptr;
    const Round* round_ = nullptr;
    std::map<Key, Passage> passages_;
    std::map<int, LossState> outcomes_;
    std::map<int, Instruction> last_backward_;  // per stage: what leaves its gradients complete
    std::vector<std::size_t> uses_left_;        // per parameter: layers whose gradients are still to come
    bool has_stepped_ = false;
};

}  // namespace trireme
