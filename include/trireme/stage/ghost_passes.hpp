// The passes of a ghost rank, of which only the time is asked for: the first of its kind is walked kernel by
// kernel, and later ones are charged as a whole.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/model/helped_products.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme::stage {

// Time of a whole pass.
struct PassTime {
    device::ProductWork products = {};
    double other_kernels = 0;
    double waits = 0;

    PassTime operator/(double count) const;
};

// A kind of pass: what it does, its stage, the rank's place in its team, the period in which the team prunes
// the same channels, and the lengths of its samples.
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
    bool is_last = false;  // it completes gradients, and reports them layer by layer
};

class GhostPasses {
public:
    // A pass takes what one of its kind took, in `shared` (which may be null) or earlier on this rank. All
    // ranks of a team share the same times. `workspace` outlives it.
    GhostPasses(Workspace& workspace, std::shared_ptr<PassTimes> shared)
        : workspace_(workspace), shared_(std::move(shared)) {}

    // Collective over the team. Walks the passes of each of `stages`, whose numbers are `numbers`, into the
    // shared times, which no rank reads before that: backward passes whole, or in halves.
    void rehearse(const std::vector<Stage>& stages, const std::vector<int>& numbers, const model::Pass& pass,
                  bool in_halves);
    // From here on, passes of another period are of another kind.
    void rebalance(const model::Rebalancing& rebalancing) { resizing_ = rebalancing.resizing; }
    // Called when devices become faster or slower.
    void forget() { own_.clear(); }

    // The output of the pass; it has no values.
    device::Tensor forward(const GhostPass& ghost, device::ConstTensor input);
    // A whole backward pass, or one of its halves.
    void backward(const GhostPass& ghost, device::ConstTensor grad_output, device::Tensor grad_input);

    // Waits for tensor ranks in charged passes since the last call of reset_waits().
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
    const model::Resizing* resizing_ = nullptr;  // null: there is one period
    bool rehearses_ = false;
    double wait_seconds_ = 0;
};

}  // namespace trireme::stage
