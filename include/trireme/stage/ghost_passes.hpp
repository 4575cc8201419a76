// The passes of a ghost rank, which take simulated time but compute no values. The first pass of a kind is
// executed kernel by kernel; later passes of that kind are charged as a whole.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/model/offloaded_matmuls.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// Simulated time of a whole pass, in seconds.
struct PassTime {
    device::MatmulWork matmuls = {};
    double other_kernels = 0;  // kernels other than those of `matmuls`
    double waits = 0;          // waits for other tensor-parallel ranks

    PassTime operator/(double count) const;
};

// The kind of a pass: its operation and stage, the position of the rank in its team, the resizing period of the
// team (within which the skipped channels are constant), and the counts of its micro-batch on which the costs
// of kernels depend. Passes of the same kind take the same time.
struct PassKey {
    schedule::Op op = schedule::Op::forward;
    int stage = 0;
    int team_position = 0;
    bool is_training = true;
    std::size_t period = 0;
    std::size_t rows = 0;            // with padding
    std::size_t predicted_rows = 0;  // rows with a target
    std::size_t samples = 0;
    std::size_t length_sum = 0;         // of the samples, without padding
    std::size_t square_length_sum = 0;  // proportional to the work of attention over all rows of each sample

    friend auto operator<=>(const PassKey&, const PassKey&) = default;
};
using PassTimes = std::map<PassKey, PassTime>;

// A pass of a ghost rank, with its arguments.
struct GhostPass {
    schedule::Instruction instruction;
    const Stage& stage;
    const model::Pass& pass;
    ActivationStash& stash;
    const PassEvents& events;
    bool completes_gradients = false;  // true for the last backward pass of its stage in a step, which reports
                                       // complete gradients layer by layer
};

class GhostPasses {
public:
    // A pass takes the time of an earlier pass of its kind, which is found in `shared_times` (may be null) or
    // among the earlier passes of this rank. All ranks of a team use the same `shared_times`. `workspace`
    // outlives this object.
    GhostPasses(Workspace& workspace, std::shared_ptr<PassTimes> shared_times)
        : workspace_(workspace), shared_times_(std::move(shared_times)) {}

    // Collective over the team. Executes the passes of `stages`, which have the indices `stage_indices` in the
    // pipeline, kernel by kernel, and adds their times to the shared times. A rank may read the shared times
    // only after all rehearsals. There must be shared times. If `splits_backward`, the two halves of backward
    // passes are executed apart.
    void rehearse(const std::vector<Stage>& stages, const std::vector<int>& stage_indices,
                  const model::Pass& pass, bool splits_backward);
    // From now on, passes of different resizing periods are of different kinds.
    void rebalance(const model::Rebalancing& rebalancing) { resizing_ = rebalancing.resizing; }
    // Forgets the times of this rank; called when devices become faster or slower.
    void forget_times() { own_times_.clear(); }

    // Returns the output of the pass, which has no values.
    device::Tensor forward(const GhostPass& ghost, device::ConstTensor input);
    // Executes a backward pass or one of its halves, as the operation of the instruction says.
    void backward(const GhostPass& ghost, device::ConstTensor grad_output, device::Tensor grad_input);

    // Returns the seconds that charged passes have waited for other tensor-parallel ranks since the last
    // reset_waits().
    double wait_seconds() const { return wait_seconds_; }
    void reset_waits() { wait_seconds_ = 0; }

private:
    PassKey make_key(const GhostPass& ghost) const;
    const PassTime* find_time(const PassKey& key) const;
    void charge(const GhostPass& ghost, const PassTime& time);
    void charge_layers(const GhostPass& ghost, const PassTime& time);
    template <class Execute>
    void measure_pass(const PassKey& key, const model::Pass& pass, Execute&& execute);
    void prepare(const GhostPass& ghost);

    Workspace& workspace_;
    PassTimes own_times_;
    std::shared_ptr<PassTimes> shared_times_;
    const model::Resizing* resizing_ = nullptr;  // null if there is only one period
    bool is_rehearsing_ = false;
    double wait_seconds_ = 0;
};

}  // namespace trireme::stage
