// A small model's state on the ranks of a job, moved from layout to layout.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "trireme/rank/twin_moves.hpp"

namespace trireme::validation {

struct MovingRules {
    const model::ModelConfig& model;
    device::DType dtype = device::DType::f32;
    bool shards_optimizer = true;
    mover::MoveRules move = {};
};

enum class MovingWay : std::uint8_t { at_once, moments_follow };

// What a rank has by a layout, and the state of its job.
class MovingState {
public:
    // Every number is one of its own, the same on all ranks that have it.
    MovingState(const MovingRules& rules, const layout::Layout& layout, int rank);

    // Collective over `control`. Gives the elements that this rank had to get, counted one by one.
    std::size_t move_to(const layout::Layout& layout, comm::Communicator& control,
                        MovingWay way = MovingWay::at_once);
    // By way of `memory`, of this rank's node by the rules. Likewise.
    std::size_t move_by_twins(const layout::Layout& layout, comm::Communicator& control,
                              comm::NodeMemory& memory);

    // How many numbers of this rank are others than they were made.
    std::size_t wrong_numbers() const;
    std::size_t updates() const { return optimizer_ ? optimizer_->updates() : made_updates; }
    bool is_idle() const { return !stages_; }

    static constexpr std::size_t made_updates = 41;

private:
    // All that a layout makes of a rank, with zeros in it.
    void settle(const layout::Layout& layout);
    rank::RankState take_state();
    // What moves the state of this rank from a plan to where it is to be by the present one.
    using Carry = std::function<void(rank::RankState, const rank::StatePlace&, const plan::Plan& from,
                                     const stage::GradientPlan& held)>;
    std::size_t change_to(const layout::Layout& layout, const Carry& carry);
    // Parts of the state as the mover sees them: values, then moments.
    std::vector<std::vector<mover::BoxInMemory>> parts() const;

    MovingRules rules_;
    int rank_;
    std::optional<plan::Plan> plan_;
    stage::GradientPlan gradients_;
    std::unique_ptr<stage::LocalStages> stages_;  // none: idle
    std::optional<optim::Optimizer> optimizer_;
};

}  // namespace trireme::validation
