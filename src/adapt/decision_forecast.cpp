#include "trireme/adapt/decision_forecast.hpp"

#include <algorithm>
#include <list>
#include <memory>
#include <tuple>
#include <utility>

#include "trireme/adapt/first_layout.hpp"
#include "trireme/adapt/plan_chooser.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/stage_work.hpp"

namespace trireme::adapt {
namespace {

// Predicts the steps of recent plans.
class PlanPredictors {
public:
    // `job` and `machine` are kept by reference.
    PlanPredictors(const setup::Job& job, const setup::Machine& machine, int ranks)
        : job_(job), machine_(machine), ranks_(ranks), works_(std::make_shared<setup::StageWorks>(job.model)) {}

    // `current` differs from earlier plans only in its layout, micro-batches and frozen blocks, and what
    // follows from them.
    setup::StepPredictor& find(const setup::PlanState& current) {
        constexpr std::size_t max_predictors = 8;
        Key key{current.plan.layout, current.plan.microbatches(), current.plan.frozen};
        const auto known = std::ranges::find(predictors_, key, &Entry::first);
        if (known != predictors_.end()) {
            predictors_.splice(predictors_.begin(), predictors_, known);
            return predictors_.front().second;
        }
        if (predictors_.size() == max_predictors) predictors_.pop_back();
        predictors_.emplace_front(
            std::piecewise_construct, std::forward_as_tuple(std::move(key)),
            std::forward_as_tuple(job_, current, machine_, works_, predict_run_memory(job_, current, ranks_)));
        return predictors_.front().second;
    }

private:
    using Key = std::tuple<layout::Layout, int, int>;  // layout, micro-batches and frozen blocks
    using Entry = std::pair<Key, setup::StepPredictor>;

    const setup::Job& job_;
    const setup::Machine& machine_;
    int ranks_;
    std::shared_ptr<setup::StageWorks> works_;
    std::list<Entry> predictors_;  // the most recently used one first
};

}  // namespace

struct DecisionForecast::State {
    State(setup::Setup setup, int rank_count)
        : ranks(rank_count),
          first_decision(setup.origin.first_decision),
          job(std::move(setup.job)),
          current(std::move(setup.current)),
          machine(choose_machine(job, ranks)),
          chooser(job, current, std::move(setup.origin), {}),
          predictors(job, machine, ranks) {
        chooser.set_links({.team = {}, .all = find_slow_link(machine, ranks)});
    }

    // Returns the reason for which the devices cannot execute the plan; an empty text if they can.
    std::string explain_lack(const setup::PlanState& state) const {
        return job.devices ? explain_lack_on_devices(job, predict_plan_memory(job, state, ranks)) : "";
    }

    std::optional<plan::Decision> change_plan(std::size_t step) {
        std::optional<Choice> choice = chooser.choose(step);
        if (!choice) return std::nullopt;
        if (const std::string lack = explain_lack(choice->transition.to); !lack.empty()) {
            std::optional<Choice> other_choice = chooser.reject(*choice, lack);
            if (!other_choice) return std::nullopt;
            choice.emplace(std::move(*other_choice));
        }
        PlanTransition& transition = choice->transition;
        const records::PlanChange change{.from = compute_hash(current.plan),
                                         .to = compute_hash(transition.to.plan),
                                         .moved_bytes = transition.count_moved_bytes(job),
                                         .kept_bytes = transition.count_kept_bytes(job),
                                         .seconds = choice->link_seconds};
        current = std::move(transition.to);
        chooser.note_change(*choice, change);
        choice->decision.measured_seconds.reset();
        return std::move(choice->decision);
    }

    int ranks;
    std::optional<plan::Decision> first_decision;  // until the forecast of the first step
    const setup::Job job;
    setup::PlanState current;
    setup::Machine machine;
    PlanChooser chooser;
    PlanPredictors predictors;
    std::size_t next_step = 0;
};

DecisionForecast::DecisionForecast(setup::Setup setup, int ranks) {
    setup.job.nodes = list_nodes(choose_machine(setup.job, ranks), ranks);
    check_first_layout(setup);
    setup.origin.hash = compute_hash(setup.current.plan);
    choose_first_layout(setup);
    state_ = std::make_unique<State>(std::move(setup), ranks);
}

DecisionForecast::~DecisionForecast() = default;

const setup::Job& DecisionForecast::job() const { return state_->job; }
const setup::PlanState& DecisionForecast::current() const { return state_->current; }

std::size_t DecisionForecast::find_next_period() const {
    return state_->chooser.find_next_possible_change(state_->next_step - 1);
}

void DecisionForecast::skip_to(std::size_t step) { state_->next_step = step; }

ForecastStep DecisionForecast::advance() {
    const std::size_t step = state_->next_step++;
    PlanChooser& chooser = state_->chooser;
    ForecastStep forecast{.step = step};
    if (step > 0) chooser.look_ahead(step);
    forecast.change = std::exchange(state_->first_decision, std::nullopt);
    if (chooser.may_change_plan(step)) {
        if (auto change = state_->change_plan(step)) forecast.change = std::move(change);
    }
    forecast.predicted = state_->predictors.find(state_->current).predict_step(step);
    records::StepOutcome outcome;
    outcome.step = step;
    outcome.seconds = forecast.predicted.seconds;
    outcome.ranks.resize(state_->job.nodes.size());  // no rank is slow
    chooser.observe(outcome);
    forecast.elastic = std::move(outcome.elastic);
    if (forecast.elastic) forecast.elastic->decision_seconds.reset();
    return forecast;
}

}  // namespace trireme::adapt
