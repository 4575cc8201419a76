// The passes of a ghost rank, which only take simulated time. The first pass of a kind is walked kernel by
// kernel; later ones are charged as a whole.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/model/helped_products.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// Simulated time of a whole pass, in seconds.
struct PassTime {
    device::ProductWork products = {};
    double other_kernels = 0;
    double waits = 0;

    PassTime operator/(double count) const;
};

// A kind of pass: operation, stage, the rank's position in its team, the resizing period of the team (in which
// the skipped channels are the same), and the lengths of the samples.
struct PassKey {
    schedule::Op op = schedule::Op::forward;
    int stage = 0;
    int place = 0;
    bool is_training = true;
    std::size_t period = 0;
    std::vector<std::size_t> lengths = {};

    friend auto operator<=>(const PassKey&, const PassKey&) = default;
};
using PassTimes = std::map<PassKey, PassTime>;

struct GhostPass {
    schedule::Instruction instruction;
    const Stage& stage;
    const model::Pass& pass;
    Flight& flight;
    const PassEvents& events;
    bool is_last = false;  // last backward pass of its stage: reports complete gradients layer by layer
};

class GhostPasses {
public:
    // A pass takes the time of an earlier pass of its kind, which is found in `shared` (may be null) or among
    // this rank's own passes. All ranks of a team have the same `shared`. `workspace` outlives this.
    GhostPasses(Workspace& workspace, std::shared_ptr<PassTimes> shared)
        : workspace_(workspace), shared_(std::move(shared)) {}

    // Collective over the team. Walks the passes of `stages`, which have the stage numbers `numbers`, and adds
    // their times to the shared times, which no rank may read before. Backward passes run whole or in halves.
    void rehearse(const std::vector<Stage>& stages, const std::vector<int>& numbers, const model::Pass& pass,
                  bool in_halves);
    // Makes passes of different resizing periods different kinds from now on.
    void rebalance(const model::Rebalancing& rebalancing) { resizing_ = rebalancing.resizing; }
    // Called when devices become faster or slower.
    void forget() { own_.clear(); }

    // Returns the output of the pass, which has no values.
    device::Tensor forward(const GhostPass& ghost, device::ConstTensor input);
    // Runs a whole backward pass or one of its halves.
    void backward(const GhostPass& ghost, device::ConstTensor grad_output, device::Tensor grad_input);

    // Seconds of waiting for tensor ranks in charged passes since the last reset_waits().
    double wait_seconds() const { return wait_seconds_; }
    void reset_waits() { wait_seconds_ = 0; }

private:
    PassKey key_of(const GhostPass& ghost) const;
    const PassTime* find(const PassKey& key) const;
    void charge(const GhostPass& ghost, const PassTime& time);
    void charge_layers(const GhostPass& ghost, const PassTime& time);
    template <class Walk>
    void walk(const PassKey& key, const model::Pass& pass, Walk&& walk);
    void prepare(const GhostPass& ghost);

    Workspace& workspace_;
    PassTimes own_;
    std::shared_ptr<PassTimes> shared_;
    const model::Resizing* resizing_ = nullptr;  // null if there is only one period
    bool rehearses_ = false;
    double wait_seconds_ = 0;
};

}  // namespace trireme::stage
