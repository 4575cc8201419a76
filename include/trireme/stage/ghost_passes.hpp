// The passes of a ghost rank, which take simulated time but compute no values. The first pass of a kind (see
// PassKey) is executed kernel by kernel, and its time is stored. Later passes of that kind are charged as a
// whole: they advance the simulated time by the stored time, without kernels and without messages of the tensor
// group.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "trireme/comm/communicator.hpp"
#include "trireme/device/stream.hpp"
#include "trireme/model/offloaded_matmuls.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// Simulated time of a pass, in seconds.
struct PassTime {
    device::MatmulWork matmuls = {};  // matmuls in transformer blocks
    double other_kernels = 0;         // kernels other than those of `matmuls`
    double clock_delay = 0;           // of all kernels; see device::Ledger
    double waits = 0;                 // waits for other tensor-parallel ranks

    PassTime operator/(double count) const;  // divides all fields
};

// The kind of a pass. Passes of the same kind take the same time, because the costs of their kernels depend
// only on these fields. The counts are those of the micro-batch.
struct PassKey {
    schedule::Op op = schedule::Op::forward;
    int stage = 0;
    int team_position = 0;  // of the rank in its team
    bool is_training = true;
    std::size_t period = 0;          // resizing period, within which the skipped channels are constant
    std::size_t rows = 0;            // with padding
    std::size_t predicted_rows = 0;  // rows with a target
    std::size_t samples = 0;
    // Sums of the lengths of the samples, without padding, and of the squared lengths. The cost of attention
    // depends on both sums.
    std::size_t length_sum = 0;
    std::size_t square_length_sum = 0;
    std::vector<plan::Recompute> levels = {};  // of ActivationStash
    double clock = 1;                          // see device::Stream

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
    // True for the last backward pass of the stage in a step. This pass reports complete gradients layer by
    // layer.
    bool completes_gradients = false;
};

class GhostPasses {
public:
    // A pass is charged the time that an earlier pass of its kind had on this rank, otherwise the time of its
    // kind in `shared_times`. If neither is known, the pass is executed. `shared_times` is null if ranks share
    // no times. All ranks of a team must use the same `shared_times`. `workspace` must outlive this object.
    GhostPasses(Workspace& workspace, std::shared_ptr<PassTimes> shared_times)
        : workspace_(workspace), shared_times_(std::move(shared_times)) {}

    // Collective over the team. Executes a forward pass of each stage and a backward pass of each trained stage
    // kernel by kernel, and adds the times of these passes to the shared times, which must not be null.
    // `stage_indices` has one entry per entry of `stages`: its index in the pipeline. `pass` has the
    // micro-batch. If `splits_backward` is true, executes the two halves of each backward pass as separate
    // passes. No rank may run other passes before the rehearsals of all ranks have ended.
    void rehearse(const std::vector<Stage>& stages, const std::vector<int>& stage_indices,
                  const model::Pass& pass, bool splits_backward);
    // Sets the resizing whose period becomes PassKey::period of later training passes.
    void rebalance(const model::Rebalancing& rebalancing) { resizing_ = rebalancing.resizing; }
    // Forgets the times that this rank has stored, but not the shared ones. Called when devices become faster
    // or slower.
    void forget_times() { own_times_.clear(); }

    // Executes or charges a forward pass. Returns the output, which has no values; the output is absent in the
    // last stage.
    device::Tensor forward(const GhostPass& ghost, device::ConstTensor input);
    // Executes or charges a backward pass, or one half of a backward pass, as `ghost.instruction` says.
    void backward(const GhostPass& ghost, device::ConstTensor grad_output, device::Tensor grad_input);

    // Returns the waits of passes charged as a whole for other tensor-parallel ranks, since the last
    // reset_waits().
    const comm::Traffic& waits() const { return waits_; }
    void reset_waits() { waits_ = {}; }

private:
    PassKey make_key(const GhostPass& ghost) const;
    const PassTime* find_time(const PassKey& key) const;
    void charge(const GhostPass& ghost, const PassTime& time);
    void charge_layers(const GhostPass& ghost, const PassTime& time);
    template <class Execute>
    void measure_pass(const PassKey& key, const model::Pass& pass, Execute&& execute);
    void restore_stash(const GhostPass& ghost);

    Workspace& workspace_;
    PassTimes own_times_;
    std::shared_ptr<PassTimes> shared_times_;
    const model::Resizing* resizing_ = nullptr;  // null: all passes are in period 0
    bool is_rehearsing_ = false;
    comm::Traffic waits_ = {};
};

}  // namespace trireme::stage
