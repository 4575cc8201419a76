#include "adapt/layout_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::adapt {
namespace {

std::vector<std::vector<int>> list_teams_by_rank(const layout::Layout& layout) {
    std::vector<std::vector<int>> teams;
    for (const layout::Team& team : make_teams(layout)) teams.push_back(team.ranks);
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
    explicit LengthCostPredictor(const RuleFacts& facts)
        : job_(facts.job),
          layers_(facts.job, facts.current.plan, facts.frozen),
          width_(facts.job.model.width),
          first_trained_layer_(plan::find_first_trained_layer(facts.frozen)) {
        const setup::Machine machine = choose_machine(facts.job, facts.job.ranks());
        const std::vector<std::vector<int>> teams = list_teams_by_rank(facts.origin);
        neighbours_ = machine.find_link(teams[0].front(), teams[1].front(), 1);
        outermost_ = machine.find_link(teams.front().front(), teams.back().front(), 1);
    }

    policy::LengthCosts predict(const plan::StepAhead& step, int microbatches) const {
        const plan::MicrobatchShape shape = make_typical_microbatch(job_, step.lengths, microbatches);
        const std::size_t message_bytes = shape.rows * width_ * byte_size(job_.dtype);
        // Some micro-batches have a sample more than others: on average, a fraction of a sample.
        const double mean = static_cast<double>(step.lengths.size()) / microbatches;
        std::vector<double> layer_seconds = layers_.predict_seconds(shape);
        for (double& seconds : layer_seconds) seconds *= mean / static_cast<double>(shape.samples);
        return {.layer_seconds = std::move(layer_seconds),
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

// Returns the bytes of the rank with the least memory; 0 if there is no limit, or if it is not known.
double find_least_memory(const setup::Job& job, std::size_t ranks) {
    if (job.config.layout.memory_limit > 0) return static_cast<double>(job.config.layout.memory_limit);
    if (!job.devices) return 0;
    std::size_t least = std::numeric_limits<std::size_t>::max();
    for (std::size_t rank = 0; rank < ranks; ++rank)
        least = std::min(least, job.devices->find_device(static_cast<int>(rank)).memory);
    return static_cast<double>(least);
}

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

policy::LengthRules make_length_rules(const RuleFacts& facts) {
    const auto predictor = std::make_shared<LengthCostPredictor>(facts);
    const std::vector<layout::LayerFacts> layers = setup::list_layer_facts(facts.job.model);
    const std::vector<std::size_t> shares = find_even_shares(facts.origin);
    return {.teams = list_teams_by_rank(facts.origin),
            .shares = shares,
            .cuts = list_cuts(layers),
            .reduce_seconds = predictor->predict_reductions(layers, shares.size()),
            .costs = [predictor](const plan::StepAhead& step, int microbatches) {
                return predictor->predict(step, microbatches);
            }};
}

// Sets the seconds of links in `rules`, which are 0 if the links are not known.
void set_link_seconds(const RuleFacts& facts, policy::DepthRules& rules) {
    const setup::Machine machine = choose_machine(facts.job, facts.job.ranks());
    std::map<int, std::vector<int>> ranks_by_node;
    for (std::size_t rank = 0; rank < facts.job.nodes.size(); ++rank)
        ranks_by_node[facts.job.nodes[rank]].push_back(static_cast<int>(rank));
    const auto invert = [](const layout::Link& link) { return link.bandwidth > 0 ? 1 / link.bandwidth : 0; };
    const std::vector<int>& first = ranks_by_node.begin()->second;
    const std::vector<int>& last = ranks_by_node.rbegin()->second;
    if (first.size() > 1) rules.near_byte_seconds = invert(machine.find_link(first[0], first[1], 1));
    rules.far_byte_seconds = invert(machine.find_link(first[0], last[0], first.size()));
}

policy::DepthRules make_depth_rules(const RuleFacts& facts) {
    const setup::Job& job = facts.job;
    policy::DepthRules rules{.layers = make_length_rules(facts),
                             .max_stages = facts.origin.stages.size(),
                             .nodes = job.nodes,
                             .memory_limit = find_least_memory(job, job.nodes.size())};
    if (may_grow_batch(job.config.policy)) {
        rules.count_samples = [samples = facts.current.samples](std::size_t pipelines) {
            return samples.grow_batch(pipelines);
        };
    }
    if (!may_use_freed_ranks(job.config.policy))
        rules.fixed_pipelines = rules.layers.teams.size() / rules.max_stages;
    const std::size_t accumulator_bytes = byte_size(accumulator_type(job.dtype));
    const std::size_t state_bytes = accumulator_bytes * count_state_values(job.config.optimizer, job.dtype);
    const std::vector<layout::LayerFacts> layers = setup::list_layer_facts(job.model);
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        const bool is_trained = layer >= plan::find_first_trained_layer(facts.frozen);
        const bool divides_state = job.config.layout.shard_optimizer;
        const std::size_t held_bytes = byte_size(job.dtype) + (is_trained ? accumulator_bytes : 0) +
                                       (is_trained && !divides_state ? state_bytes : 0);
        const std::size_t divided_bytes = is_trained && divides_state ? state_bytes : 0;
        const auto to_rank_bytes = [&](std::size_t bytes) {
            return static_cast<double>(layers[layer].parameters * bytes) /
                   static_cast<double>(rules.layers.shares.size());
        };
        rules.held_bytes.push_back(to_rank_bytes(held_bytes));
        rules.divided_bytes.push_back(to_rank_bytes(divided_bytes));
        rules.gradient_bytes.push_back(to_rank_bytes(is_trained ? accumulator_bytes : 0));
    }
    set_link_seconds(facts, rules);
    return rules;
}

}  // namespace trireme::adapt
