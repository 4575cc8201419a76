#include "trireme/setup/sample_homes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "trireme/setup/step_planner.hpp"
#include "trireme/setup/step_shapes.hpp"

namespace trireme::setup {
namespace {

// Four ranks on two nodes; each rank is a replica with two micro-batches of two samples per step. The samples
// have 1, 2, 3, 1, 2, 3, ... tokens.
class SampleHomesOnTwoNodes : public testing::Test {
protected:
    SampleHomesOnTwoNodes() {
        job_.config.run.batch = 16;
        job_.config.policy.cache.sample_homes = 2;
        job_.nodes = {0, 0, 2, 2};
        for (std::uint32_t s = 0; s < 37; ++s) job_.samples.train.push_back({.row = s, .length = 1 + s % 3});
        job_.samples.max_length = 3;
        current_.plan = plan::make_plan(
            {.layout = {.layers = 1, .stages = {{{0, 1}, {{{0}}, {{1}}, {{2}}, {{3}}}}}}, .microbatches = 2});
        current_.samples = {.batch = 16, .first_batch = 16, .all = 16 * steps};
    }

    // Returns the samples of a step, by node.
    std::map<int, std::multiset<std::uint64_t>> list_samples(std::size_t step) {
        StepPlanner planner(job_, current_);
        std::map<int, std::multiset<std::uint64_t>> samples;
        const std::vector<plan::Microbatch> microbatches = planner.plan_step(step).microbatches;
        for (std::size_t m = 0; m < microbatches.size(); ++m) {
            const int rank = current_.plan.training.shape.find_executor(0, static_cast<int>(m));
            for (const plan::SampleVisit& visit : microbatches[m].samples)
                samples[job_.nodes[static_cast<std::size_t>(rank)]].insert(visit.sample);
        }
        return samples;
    }

    // Returns the visits of a step, sorted.
    std::vector<std::pair<std::uint64_t, std::uint64_t>> list_visits(std::size_t step) const {
        std::vector<std::pair<std::uint64_t, std::uint64_t>> visits;
        for (const plan::SampleVisit& visit : make_sampler(job_).list_visits(step * 16, 16))
            visits.emplace_back(visit.epoch, visit.sample);
        std::ranges::sort(visits);
        return visits;
    }

    static constexpr std::size_t steps = 7;
    Job job_;
    PlanState current_;
};

TEST_F(SampleHomesOnTwoNodes, AreTheNodesOfTheirSamplesInAllSteps) {
    std::map<int, std::set<std::uint64_t>> all;
    for (std::size_t step = 0; step < steps; ++step)
        for (const auto& [node, samples] : list_samples(step)) all[node].insert(samples.begin(), samples.end());

    EXPECT_EQ(all[0].size(), 19U);
    EXPECT_EQ(all[2].size(), 18U);
    for (const int node : {0, 2}) {
        const std::vector<bool> own = list_samples_of_node(job_, node);
        for (std::uint64_t sample = 0; sample < 37; ++sample)
            EXPECT_EQ(own[sample], all[node].contains(sample)) << "node " << node << ", sample " << sample;
    }
}

// If the node of a home executes fewer micro-batches than its samples need, the other node executes the rest.
TEST_F(SampleHomesOnTwoNodes, LoseNoSampleIfTheirNodesHaveUnequalWork) {
    job_.nodes = {0, 0, 0, 3};
    for (std::size_t step = 0; step < steps; ++step) {
        const std::map<int, std::multiset<std::uint64_t>> samples_by_node = list_samples(step);
        std::vector<std::uint64_t> samples;
        for (const auto& [node, of_node] : samples_by_node)
            samples.insert(samples.end(), of_node.begin(), of_node.end());
        std::ranges::sort(samples);
        std::vector<std::uint64_t> expected;
        for (const auto& [epoch, sample] : list_visits(step)) expected.push_back(sample);
        std::ranges::sort(expected);
        EXPECT_EQ(samples, expected);
        for (const std::uint64_t sample : samples_by_node.at(3))
            EXPECT_TRUE(list_samples_of_node(job_, 3)[sample]);
    }
}

// The samples of each step are those of any number of nodes.
TEST_F(SampleHomesOnTwoNodes, DetermineTheSamplesOfAStep) {
    const auto on_two_nodes = list_visits(3);
    job_.nodes = {0, 0, 0, 0};
    EXPECT_EQ(list_visits(3), on_two_nodes);
    EXPECT_EQ(count_nodes(job_), 1U);
}

}  // namespace
}  // namespace trireme::setup
