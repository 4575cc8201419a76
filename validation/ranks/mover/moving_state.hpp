// The state of a small model on the ranks of a job, which moves from layout to layout.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "trireme/rank/staged_moves.hpp"

namespace trireme::validation {

struct MovingRules {
    const model::ModelConfig& model;
    device::DType dtype = device::DType::f32;
    bool shards_optimizer = true;
    mover::MoveRules move = {};
};

enum class MoveOrder : std::uint8_t { at_once, moments_later };

// A rank's part of the state in the present layout.
class MovingState {
public:
    // Gives every element of the state a distinct number, equal on all ranks that hold it.
    MovingState(const MovingRules& rules, const layout::Layout& layout, int rank);

    // Collective over `control`. Moves the state to `layout`. Returns the number of elements that this rank
    // lacked before, counted one by one.
    std::size_t move_to(const layout::Layout& layout, comm::Communicator& control,
                        MoveOrder way = MoveOrder::at_once);
    // As move_to(), but through `memory`, which belongs to this rank's node according to the rules.
    std::size_t move_by_staging(const layout::Layout& layout, comm::Communicator& control,
                                comm::NodeMemory& memory);

    // Number of this rank's elements that differ from the constructor's values.
    std::size_t count_wrong_elements() const;
    // Returns the numbers of updates of the parameters, without repetitions; none on an idle rank.
    std::set<std::size_t> updates() const {
        if (!optimizer_) return {};
        return {optimizer_->updates().begin(), optimizer_->updates().end()};
    }
    bool is_idle() const { return !stages_; }

    static constexpr std::size_t initial_updates = 41;

private:
    // Makes the stages and the optimizer of this rank in `layout`, filled with zeros.
    void settle(const layout::Layout& layout, std::optional<model::ParameterTensors> values = {});
    rank::RankState take_state();
    // Moves the state of this rank from the plan `from` to the present one.
    using Carry = std::function<void(rank::RankState, const rank::StateDestination&, const plan::Plan& from,
                                     const stage::GradientPlan& held)>;
    std::size_t change_to(const layout::Layout& layout, const Carry& carry);
    // The state as the mover sees it: values, then each of the moments.
    std::vector<std::vector<mover::BoxInMemory>> parts() const;

    MovingRules rules_;
    int rank_;
    std::optional<plan::Plan> plan_;
    stage::GradientPlan gradients_;
    std::unique_ptr<stage::LocalStages> stages_;  // null if the rank is idle
    std::optional<optim::Optimizer> optimizer_;
};

}  // namespace trireme::validation
