// How the passes of a rank's stages are made: computed or, where nothing but their time is asked for, walked
// kernel by kernel the first time, and charged as a whole from then on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "trireme/device/stream.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme {

// What whole passes take.
struct PassTime {
    ProductWork products = {};
    double other_kernels = 0;
    double waits = 0;

    PassTime operator/(double count) const;
};

// Told apart by what a pass is, of which stage, by the rank's place in its team, by the period in which its
// team leaves out the same channels, and of samples of which lengths.
struct PassKey {
    Op op = Op::forward;
    int stage = 0;
    int place = 0;
    bool is_training = true;
    std::size_t period = 0;
    std::vector<std::size_t> lengths = {};

    friend auto operator<=>(const PassKey&, const PassKey&) = default;
};
using PassTimes = std::map<PassKey, PassTime>;

class PassRunner {
public:
    // `workspace` outlives it.
    explicit PassRunner(Workspace& workspace) : workspace_(workspace) {}

    // From here on, passes of ghosts that are like one in `shared` (or none), or like an earlier one of this
    // rank, take what that took. All ranks of a team have this alike.
    void remember(std::shared_ptr<PassTimes> shared) {
        shared_ = std::move(shared);
        own_.emplace();
    }
    // What is walked meanwhile is for all who share. Nobody looks there before it is over.
    void rehearse(bool begins) { rehearses_ = begins; }
    // Devices are faster or slower from here on.
    void forget() {
        if (own_) own_->clear();
    }

    // As Stage has them; `number` is the stage's. A backward pass that leaves gradients complete `is_last`: it
    // tells of them layer by layer.
    Tensor forward(const Stage& stage, int number, const Pass& pass, ConstTensor input, Flight& flight);
    void backward(const Stage& stage, int number, const Pass& pass, ConstTensor grad_output, Tensor grad_input,
                  Flight& flight, const LayerLeft& left, bool is_last);
    void backward_input(const Stage& stage, int number, const Pass& pass, ConstTensor grad_output,
                        Tensor grad_input, Flight& flight);
    void backward_weight(const Stage& stage, int number, const Pass& pass, Flight& flight,
                         const LayerLeft& left, bool is_last);
    // Of the last stage; nothing, where its passes were not walked.
    static LossState outcome(const Stage& stage, const Flight& flight);

    // That remembered passes have waited for tensor ranks; since the last call of reset_waits().
    double wait_seconds() const { return wait_seconds_; }
    void reset_waits() { wait_seconds_ = 0; }

private:
    static PassKey key_of(Op op, int number, const Pass& pass);
    const PassTime* known(const PassKey& key) const;
    void charge(const Pass& pass, const PassTime& time);
    void charge_layers(const Stage& stage, const Pass& pass, const PassTime& time, const LayerLeft& left);
    template <class Walk>
    void walk(const PassKey& key, const Pass& pass, Walk&& walk);
    void prepare(const Stage& stage, const Pass& pass, Flight& flight, bool for_weights);

    Workspace& workspace_;
    std::optional<PassTimes> own_;  // none: every pass is made
    std::shared_ptr<PassTimes> shared_;
    bool rehearses_ = false;
    double wait_seconds_ = 0;
};

}  // namespace trireme
