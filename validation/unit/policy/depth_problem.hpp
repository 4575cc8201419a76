// Random problems for tests of the proposer "auto-pipe".
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "trireme/plan/plan.hpp"
#include "trireme/policy/depth.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::policy {

// A model with an embedding, blocks of two layers, a norm and a head, on the ranks of one or two nodes.
struct DepthProblem {
    DepthRules rules = {};
    plan::Observation observed = {};
    plan::StepAhead step = {};   // the step ahead with the median number of tokens
    std::vector<int> work = {};  // per layer: relative seconds of all passes
    int frozen = 0;              // number of frozen blocks

    std::size_t first_trained_layer() const { return plan::find_first_trained_layer(frozen); }
    int ranks() const { return static_cast<int>(rules.nodes.size()); }
    int max_microbatches() const { return static_cast<int>(step.lengths.size()); }
    double find_slowness(int rank) const {
        return observed.slowness.empty() ? 1 : observed.slowness[static_cast<std::size_t>(rank)];
    }
};

// The properties of the problems that a test draws.
struct DepthLimits {
    int send_percent = 50;    // of the passes of a block: at most, for a message in both directions
    int reduce_percent = 50;  // of the passes of all ranks: at most, for an all-reduce of all gradients
    double max_slowness = 4;  // of a rank; 1 if no rank is slow
    int min_samples = 1;      // per step
};

inline double draw_up_to(schedule::Draw& draw, double limit) { return limit * draw.within(0, 1000) / 1000; }

// Returns a fraction that is at most 0, a tenth of the limit, or the limit, equally often.
inline double draw_fraction(schedule::Draw& draw, int percent) {
    const std::size_t kind = draw.below(3);
    return kind == 0 ? 0 : draw_up_to(draw, percent / (kind == 1 ? 1000.0 : 100.0));
}

// Returns the seconds of the forward per layer, for a token of a rank that is not slow.
inline std::vector<int> draw_forwards(schedule::Draw& draw, int blocks) {
    std::vector<int> forwards{draw.within(1, 40)};
    const std::vector<int> halves{draw.within(30, 100), draw.within(30, 100)};
    for (int block = 0; block < blocks; ++block)
        for (const int half : halves) forwards.push_back(half + draw.within(-half / 10, half / 10));
    forwards.push_back(draw.within(1, 5));
    forwards.push_back(draw.within(1, 200));
    return forwards;
}

// Passes take time for each token of a micro-batch, and as much time as for `overhead` more tokens.
inline void set_costs(DepthProblem& problem, double overhead, double send) {
    problem.rules.layers.costs = [work = problem.work, overhead, send](const plan::StepAhead& step, int count) {
        const double tokens = std::accumulate(step.lengths.begin(), step.lengths.end(), 0.0);
        const double seconds = tokens / count + overhead;
        LengthCosts costs{.send_seconds = send * seconds};
        for (const int layer : work) costs.layer_seconds.push_back(layer * seconds);
        return costs;
    };
}

inline void draw_layers(schedule::Draw& draw, const DepthLimits& limits, DepthProblem& problem) {
    const int blocks = draw.within(1, 6);
    const std::vector<int> forwards = draw_forwards(draw, blocks);
    problem.frozen = draw.one_in(3) ? 0 : draw.within(0, blocks);
    problem.rules.layers.cuts = {0};
    for (std::size_t layer = 1; layer + 1 < forwards.size(); layer += 2)
        problem.rules.layers.cuts.push_back(layer);
    for (std::size_t layer = 0; layer < forwards.size(); ++layer) {
        const bool is_trained = layer >= problem.first_trained_layer();
        problem.work.push_back(forwards[layer] * (is_trained ? 3 : 1));
        const double bytes = forwards[layer] * draw.within(8, 12);
        problem.rules.gradient_bytes.push_back(is_trained ? bytes : 0);
        problem.rules.held_bytes.push_back(is_trained ? 2 * bytes : bytes);
        problem.rules.divided_bytes.push_back(is_trained ? 2 * bytes : 0);
    }
    const double send = draw_fraction(draw, limits.send_percent) * 3 * (forwards[1] + forwards[2]);
    set_costs(problem, draw_up_to(draw, 10), send);
}

inline void draw_ranks(schedule::Draw& draw, const DepthLimits& limits, DepthProblem& problem) {
    const int ranks = draw.within(2, 8);
    const int first_node = draw.one_in(2) ? ranks : (ranks + 1) / 2;
    for (int rank = 0; rank < ranks; ++rank) {
        problem.rules.layers.teams.push_back({rank});
        problem.rules.nodes.push_back(rank < first_node ? 0 : first_node);
    }
    if (limits.max_slowness == 1 || !draw.one_in(3)) return;
    problem.observed.slowness.assign(static_cast<std::size_t>(ranks), 1);
    problem.observed.slowness[draw.below(problem.rules.nodes.size())] =
        1.5 + draw_up_to(draw, limits.max_slowness - 1.5);
}

// Draws one, three or five steps ahead, which have different numbers of tokens.
inline void draw_steps(schedule::Draw& draw, const DepthLimits& limits, DepthProblem& problem) {
    const int samples = std::max(limits.min_samples, draw.one_in(4) ? draw.within(1, 8) : draw.within(8, 64));
    const int longest = draw.within(20, 400);
    const std::size_t steps = 1 + 2 * draw.below(3);
    std::vector<plan::StepAhead>& ahead = problem.observed.ahead;
    for (std::size_t step = 0; step < steps; ++step) {
        ahead.push_back({.step = step});
        for (int sample = 0; sample < samples; ++sample)
            ahead.back().lengths.push_back(static_cast<std::uint32_t>(draw.within(10, longest)));
    }
    std::vector<plan::StepAhead> sorted = ahead;
    const auto sum = [](const auto& step) {
        return std::accumulate(step.lengths.begin(), step.lengths.end(), 0U);
    };
    std::ranges::stable_sort(sorted, {}, sum);
    problem.step = sorted[steps / 2];
}

// All replicas of a stage exchange gradients over links of equal speed, or the links between nodes are slower.
inline void draw_links(schedule::Draw& draw, const DepthLimits& limits, DepthProblem& problem) {
    DepthRules& rules = problem.rules;
    const std::vector<double> passes = rules.layers.costs(problem.step, 1).layer_seconds;
    const double seconds = std::accumulate(passes.begin(), passes.end(), 0.0);
    const double bytes = std::accumulate(rules.gradient_bytes.begin(), rules.gradient_bytes.end(), 0.0);
    rules.near_byte_seconds = draw_fraction(draw, limits.reduce_percent) * seconds / problem.ranks() / bytes;
    rules.far_byte_seconds = rules.near_byte_seconds * draw.within(1, 4);
    const bool has_one_node = rules.nodes.front() == rules.nodes.back();
    const double byte_seconds = has_one_node ? rules.near_byte_seconds : rules.far_byte_seconds;
    for (const double each : rules.gradient_bytes) rules.layers.reduce_seconds.push_back(each * byte_seconds);
}

inline DepthProblem draw_depth_problem(schedule::Draw& draw, const DepthLimits& limits = {}) {
    DepthProblem problem;
    draw_layers(draw, limits, problem);
    draw_ranks(draw, limits, problem);
    draw_steps(draw, limits, problem);
    draw_links(draw, limits, problem);
    problem.rules.max_stages = static_cast<std::size_t>(draw.within(1, 8));
    return problem;
}

}  // namespace trireme::policy
