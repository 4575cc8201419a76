// How the passes of a rank's stages are made: computed or, where nothing but their time is asked for, walked
// kernel by kernel the first time, and charged as a whole from then on.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/stage/stage.hpp"

namespace trireme {

class PassRunner {
public:
    // `workspace` outlives it.
    explicit PassRunner(Workspace& workspace) : workspace_(workspace) {}

    // From here on, passes of ghosts that are like an earlier one take what that took, on this rank. All ranks
    // of a team have this alike.
    void remember() { known_.emplace(); }
    // Devices are faster or slower from here on.
    void forget() {
        if (known_) known_->clear();
    }

    // As Stage has them; `number` is the stage's. A backward pass that leaves gradients complete `is_last`:
    // they are told of layer by layer, so it is always walked.
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
    struct PassTime {
        double kernels = 0;
        double waits = 0;
    };
    // Of what a pass is told apart by: what it is, of which stage, of samples of which lengths.
    using Key = std::tuple<Op, int, bool, std::vector<std::size_t>>;

    static Key key_of(Op op, int number, const Pass& pass);
    const PassTime* known(const Key& key) const;
    void charge(const Pass& pass, const PassTime& time);
    template <class Walk>
    void walk(const Key& key, const Pass& pass, Walk&& walk);
    void prepare(const Stage& stage, const Pass& pass, Flight& flight, bool for_weights);

    Workspace& workspace_;
    std::optional<std::map<Key, PassTime>> known_;  // none: every pass is made
    double wait_seconds_ = 0;
};

}  // namespace trireme
