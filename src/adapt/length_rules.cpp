#include "adapt/length_rules.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::adapt {
namespace {

std::vector<std::vector<int>> list_teams_by_rank(const plan::Plan& plan) {
    std::vector<std::vector<int>> teams;
    for (const layout::Team& team : plan.teams) teams.push_back(team.ranks);
    std::ranges::sort(teams);
    return teams;
}

// A stage begins with the embedding, a block or the head.
std::vector<std::size_t> list_cuts(const std::vector<layout::LayerFacts>& layers) {
    std::vector<std::size_t> cuts;
    for (std::size_t layer = 0; layer < layers.size(); ++layer)
        if (layer == 0 || layers[layer].item != layers[layer - 1].item) cuts.push_back(layer);
    return cuts;
}

// Predicts the typical micro-batches of steps.
class LengthCostPredictor {
public:
    LengthCostPredictor(const setup::Job& job, const plan::Plan& plan)
        : job_(job),
          layers_(job, plan),
          width_(job.model.width),
          first_trained_layer_(plan.first_trained_layer()) {
        const setup::Machine machine = choose_machine(job, static_cast<int>(job.memory_limits.size()));
        const std::vector<std::vector<int>> teams = list_teams_by_rank(plan);
        neighbours_ = machine.find_link(teams[0].front(), teams[1].front(), 1);
        outermost_ = machine.find_link(teams.front().front(), teams.back().front(), 1);
    }

    policy::LengthCosts predict(const plan::StepAhead& step, int microbatches) const {
        const plan::MicrobatchShape shape = make_typical_microbatch(job_, step.lengths, microbatches);
        const std::size_t message_bytes = shape.rows * width_ * byte_size(job_.dtype);
        return {.layer_seconds = layers_.predict_seconds(shape),
                .send_seconds = 2 * neighbours_.predict_seconds(static_cast<double>(message_bytes))};
    }

    // Returns LengthRules::reduce_seconds.
    std::vector<double> predict_reductions(const std::vector<layout::LayerFacts>& layers,
                                           std::size_t team_ranks) const {
        const std::size_t bytes = byte_size(accumulator_type(job_.dtype));
        std::vector<double> seconds;
        for (std::size_t layer = 0; layer < layers.size(); ++layer) {
            const std::size_t parameters = layer < first_trained_layer_ ? 0 : layers[layer].parameters;
            const auto gradient_bytes = static_cast<double>(parameters * bytes / team_ranks);
            seconds.push_back(outermost_.bandwidth > 0 ? gradient_bytes / outermost_.bandwidth : 0);
        }
        return seconds;
    }

private:
    const setup::Job& job_;
    setup::LayerTimes layers_;
    std::size_t width_;
    std::size_t first_trained_layer_;
    layout::Link neighbours_;  // between the first two teams
    layout::Link outermost_;   // between the first and the last team
};

// Returns the shares of the first team if they are even. Layouts that follow lengths have even shares, too, if
// the shares of the options are those of slow ranks.
std::vector<std::size_t> find_even_shares(const layout::Layout& origin) {
    const std::vector<std::size_t>& shares = origin.stages.front().replicas.front().shares;
    const bool are_even = std::ranges::count(shares, shares.front()) == std::ssize(shares);
    return are_even ? shares : std::vector<std::size_t>(shares.size(), 1);
}

}  // namespace

plan::MicrobatchShape make_typical_microbatch(const setup::Job& job, const std::vector<std::uint32_t>& lengths,
                                              int microbatches) {
    double sum = 0;
    for (const std::uint32_t length : lengths) sum += length;
    const auto count = static_cast<double>(lengths.size());
    const plan::LengthPolicy policy = job.config.schedule.length;
    double length = std::ranges::max(lengths);
    if (policy == plan::LengthPolicy::fixed) length = static_cast<double>(job.samples.max_length);
    if (is_packed(policy)) length = sum / count;
    const auto samples =
        static_cast<std::size_t>(std::max(1.0, std::round(count / static_cast<double>(microbatches))));
    return plan::make_equal_length_shape(samples,
                                         samples * static_cast<std::size_t>(std::max(1.0, std::round(length))));
}

policy::LengthRules make_length_rules(const setup::Job& job, const setup::PlanState& current,
                                      const layout::Layout& origin) {
    const auto predictor = std::make_shared<LengthCostPredictor>(job, current.plan);
    const std::vector<layout::LayerFacts> layers = setup::list_layer_facts(job.model);
    return {.teams = list_teams_by_rank(current.plan),
            .shares = find_even_shares(origin),
            .cuts = list_cuts(layers),
            .reduce_seconds = predictor->predict_reductions(layers, current.plan.teams.front().ranks.size()),
            .costs = [predictor](const plan::StepAhead& step, int microbatches) {
                return predictor->predict(step, microbatches);
            }};
}

}  // namespace trireme::adapt
