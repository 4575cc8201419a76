#include "trireme/schedule/costs.hpp"

#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

// Returns the field of a forward pass, of a backward pass, of its halves or of a STEP; 0 for other operations.
// `Fields` is StageCost or StageJoules.
template <class Fields>
double find_field(const Fields& fields, Op op) {
    switch (op) {
        case Op::forward:
            return fields.forward;
        case Op::backward:
            return fields.backward_input + fields.backward_weight;
        case Op::backward_input:
            return fields.backward_input;
        case Op::backward_weight:
            return fields.backward_weight;
        case Op::step:
            return fields.step;
        case Op::send_forward:
        case Op::receive_forward:
        case Op::send_backward:
        case Op::receive_backward:
        case Op::reduce:
        case Op::validate:
        case Op::set_clock:
            break;
    }
    return 0;
}

}  // namespace

StageCost StageCost::at_speed(double speed) const {
    const double factor = clocked / speed + 1 - clocked;
    StageCost slower = *this;
    for (double StageCost::*const pass :
         {&StageCost::forward, &StageCost::backward_input, &StageCost::backward_weight})
        slower.*pass *= factor;
    slower.joules = {};
    return slower;
}

double StageCost::find_time(Op op) const { return find_field(*this, op); }
double StageCost::find_joules(Op op) const { return find_field(joules, op); }

std::size_t TeamClocks::find_index(int clock) const {
    const auto found = std::ranges::find(mhz, clock);
    if (found == mhz.end())
        throw BugError(cat("a program sets a clock of ", clock, " MHz, which is not listed"));
    return static_cast<std::size_t>(found - mhz.begin());
}

StepCosts::StepCosts(const std::vector<StageCost>& stages) {
    for (const StageCost& cost : stages) costs_.push_back({cost});
}

StepCosts::StepCosts(std::vector<std::vector<StageCost>> costs, std::vector<bool> empty_microbatches)
    : costs_(std::move(costs)), empty_microbatches_(std::move(empty_microbatches)) {
    const bool are_equal = std::ranges::all_of(costs_, [](const std::vector<StageCost>& stage) {
        return std::ranges::count(stage, stage.front()) == std::ssize(stage);
    });
    if (!are_equal) return;
    for (std::vector<StageCost>& stage : costs_) stage.resize(1);
}

StepCosts::StepCosts(const std::vector<StepCosts>& steps, int microbatches)
    : costs_(steps.front().stages()), clocks_(steps.front().clocks_) {
    for (const StepCosts& step : steps) {
        for (int m = 0; m < microbatches; ++m) {
            empty_microbatches_.push_back(step.is_empty(m));
            for (std::size_t s = 0; s < costs_.size(); ++s)
                costs_[s].push_back(step.find(static_cast<int>(s), m));
        }
    }
    for (std::size_t k = 0; k < steps.front().lower_clocks_.size(); ++k) {
        std::vector<StepCosts> at_clock;
        for (const StepCosts& step : steps) at_clock.push_back(step.lower_clocks_[k]);
        lower_clocks_.emplace_back(at_clock, microbatches);
    }
}

void StepCosts::add_clocks(std::vector<TeamClocks> teams,
                           const std::function<StepCosts(std::size_t clock)>& make_costs) {
    clocks_ = std::move(teams);
    std::size_t clocks = 0;
    for (const TeamClocks& each : clocks_) clocks = std::max(clocks, each.mhz.size());
    for (std::size_t k = 1; k < clocks; ++k) lower_clocks_.push_back(make_costs(k));
}

bool StepCosts::are_equal_for_all_microbatches() const {
    return costs_.front().size() == 1 &&
           std::ranges::all_of(lower_clocks_, &StepCosts::are_equal_for_all_microbatches);
}

bool StepCosts::fit_microbatches(int microbatches, int steps) const {
    const auto have_size = [&](int size) {
        const auto count = static_cast<std::size_t>(size);
        return std::ranges::all_of(costs_, [&](const auto& stage) { return stage.size() == count; });
    };
    const std::size_t empty_size = empty_microbatches_.size();
    return (have_size(1) || have_size(microbatches) || have_size(steps * microbatches)) &&
           (empty_size == 0 || empty_size == static_cast<std::size_t>(microbatches) ||
            empty_size == static_cast<std::size_t>(steps * microbatches));
}

bool StepCosts::has_empty_microbatches() const {
    return std::ranges::find(empty_microbatches_, true) != empty_microbatches_.end();
}

bool StepCosts::is_empty(int microbatch) const {
    return !empty_microbatches_.empty() &&
           empty_microbatches_[static_cast<std::size_t>(microbatch) % empty_microbatches_.size()];
}

const StageCost& StepCosts::find(int stage, int microbatch, std::size_t clock) const {
    if (clock > 0) return lower_clocks_[clock - 1].find(stage, microbatch);
    const std::vector<StageCost>& costs = costs_[static_cast<std::size_t>(stage)];
    return costs.size() == 1 ? costs.front() : costs[static_cast<std::size_t>(microbatch) % costs.size()];
}

}  // namespace trireme::schedule
