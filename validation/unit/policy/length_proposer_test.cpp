#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "trireme/policy/length.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::policy {
namespace {

using schedule::Draw;
using Lengths = std::vector<std::uint32_t>;

// Returns rules for layers of equal work, of which the last one takes `last_layer_seconds` as long, on teams of
// `team_size` consecutive ranks. Long samples make each layer slower.
LengthRules make_length_rules(std::size_t layers, int teams, int team_size = 1, double last_layer_seconds = 1) {
    LengthRules rules{.cuts = std::vector<std::size_t>(layers),
                      .reduce_seconds = std::vector<double>(layers, 0)};
    std::iota(rules.cuts.begin(), rules.cuts.end(), 0);
    for (int team = 0; team < teams; ++team) {
        rules.teams.emplace_back(team_size);
        std::iota(rules.teams.back().begin(), rules.teams.back().end(), team * team_size);
    }
    rules.costs = [layers, last_layer_seconds](const plan::StepAhead& step, int) {
        LengthCosts costs{.layer_seconds = std::vector<double>(layers, 0), .send_seconds = 1};
        for (const std::uint32_t length : step.lengths) {
            for (double& seconds : costs.layer_seconds) seconds += length * (1 + length / 1000.0);
        }
        costs.layer_seconds.back() *= last_layer_seconds;
        return costs;
    };
    return rules;
}

plan::Observation make_observation(const std::vector<Lengths>& steps) {
    plan::Observation observed;
    for (const Lengths& lengths : steps) observed.ahead.push_back({7 + observed.ahead.size(), lengths});
    return observed;
}

Candidate make_current(int microbatches) {
    return {.layout = {}, .microbatches = microbatches, .schedule = "1f1b"};
}

// Returns the layers per stage and the replicas per stage, for example "3,3,2 x 2,2,4".
std::string describe_shape(const layout::Layout& layout) {
    std::string layers;
    std::string replicas;
    for (const layout::StageLayout& stage : layout.stages) {
        layers += (layers.empty() ? "" : ",") + std::to_string(stage.layers.count);
        replicas += (replicas.empty() ? "" : ",") + std::to_string(stage.replicas.size());
    }
    return layers + " x " + replicas;
}

std::vector<layout::Layout> find_shape(const std::vector<Candidate>& candidates, const std::string& shape) {
    std::vector<layout::Layout> found;
    for (const Candidate& candidate : candidates)
        if (describe_shape(candidate.layout) == shape) found.push_back(candidate.layout);
    return found;
}

// Returns the ranks of a replica of all stages.
std::vector<int> list_pipeline(const layout::Layout& layout, std::size_t replica) {
    std::vector<int> ranks;
    for (const layout::StageLayout& stage : layout.stages)
        ranks.insert(ranks.end(), stage.replicas[replica].ranks.begin(), stage.replicas[replica].ranks.end());
    return ranks;
}

std::set<std::size_t> list_stage_counts(const std::vector<Candidate>& candidates) {
    std::set<std::size_t> counts;
    for (const Candidate& candidate : candidates) counts.insert(candidate.layout->stages.size());
    return counts;
}

void expect_equal(const std::vector<Candidate>& a, const std::vector<Candidate>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_TRUE(are_equal_plans(a[i], b[i])) << "candidate " << i;
        EXPECT_EQ(a[i].causes.back().reason, b[i].causes.back().reason);
        EXPECT_EQ(a[i].causes.back().terms, b[i].causes.back().terms);
    }
}

TEST(LengthProposer, ProposesNothingWithoutStepsAhead) {
    const Proposer propose = make_length_proposer(make_length_rules(8, 4));

    EXPECT_TRUE(propose({}, make_current(8)).empty());
    EXPECT_TRUE(propose(make_observation({{}}), make_current(8)).empty());
}

TEST(LengthProposer, KeepsMicrobatchesScheduleAndEarlierCauses) {
    Candidate current = make_current(8);
    current.causes = {{.proposer = "other"}};

    const auto candidates = make_length_proposer(make_length_rules(8, 4))(
        make_observation({{4096, 512, 512}, {4300, 400, 400}}), current);

    ASSERT_FALSE(candidates.empty());
    for (const Candidate& candidate : candidates) {
        EXPECT_EQ(candidate.microbatches, 8);
        EXPECT_EQ(candidate.schedule, "1f1b");
        ASSERT_EQ(candidate.causes.size(), 2U);
        EXPECT_EQ(candidate.causes[0].proposer, "other");
        EXPECT_EQ(candidate.causes[1].proposer, "length");
        EXPECT_EQ(candidate.causes[1].reason, "samples of up to 4,300 tokens");
        const std::map<std::string, double> terms{{"longest", 4300}, {"mean", (5120 + 5100) / 6.0}};
        EXPECT_EQ(candidate.causes[1].terms, terms);
    }
}

// 4096 and 4800 are in one quarter octave, 4095 and 4096 are not.
TEST(LengthProposer, PredictsTheCostsOfEachClassOnce) {
    LengthRules rules = make_length_rules(8, 4);
    std::vector<plan::StepAhead> predicted;
    rules.costs = [&predicted, costs = rules.costs](const plan::StepAhead& step, int microbatches) {
        predicted.push_back(step);
        return costs(step, microbatches);
    };
    const Proposer propose = make_length_proposer(rules);
    const Lengths shorter(4, 4096);

    propose(make_observation({shorter, Lengths(4, 4800), {4095, 4095}, {5000, 1000, 300, 300}}),
            make_current(8));
    propose(make_observation({{4700, 4700, 4200, 4096}}), make_current(8));

    ASSERT_EQ(predicted.size(), 3U);
    EXPECT_EQ(predicted[0].lengths, shorter);
    EXPECT_EQ(predicted[0].step, 0U);
    EXPECT_EQ(predicted[1].lengths, (Lengths{3445, 3445}));
    // The mean 1650 is rounded down to 1449, and 5000 to 4871.
    EXPECT_EQ(predicted[2].lengths, (Lengths{4871, 308, 308, 308}));
}

TEST(LengthProposer, KeepsPipelinesOnAdjacentRanks) {
    const auto candidates =
        make_length_proposer(make_length_rules(8, 8))(make_observation({Lengths(16, 1000)}), make_current(16));

    const auto grids = find_shape(candidates, "2,2,2,2 x 2,2,2,2");
    ASSERT_EQ(grids.size(), 2U);
    EXPECT_EQ(list_pipeline(grids[0], 0), (std::vector<int>{0, 2, 4, 6}));
    EXPECT_EQ(list_pipeline(grids[0], 1), (std::vector<int>{1, 3, 5, 7}));
    EXPECT_EQ(list_pipeline(grids[1], 0), (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(list_pipeline(grids[1], 1), (std::vector<int>{4, 5, 6, 7}));
    EXPECT_EQ(find_shape(candidates, "1,1,1,1,1,1,1,1 x 1,1,1,1,1,1,1,1").size(), 1U) << "equal layouts";
}

TEST(LengthProposer, OrdersUnequalNumbersOfReplicasByPosition) {
    const plan::Observation observed = make_observation({Lengths(12, 1000)});
    const auto candidates =
        make_length_proposer(make_length_rules(3, 7, 1, 1.0 / 3))(observed, make_current(12));

    const auto layouts = find_shape(candidates, "1,1,1 x 3,3,1");
    ASSERT_EQ(layouts.size(), 2U);
    // Positions: 1/6 twice, 1/2 three times, 5/6 twice.
    const std::vector<std::vector<int>> expected = {{0, 2, 5}, {1, 3, 6}, {4}};
    for (std::size_t stage = 0; stage < expected.size(); ++stage) {
        for (std::size_t replica = 0; replica < expected[stage].size(); ++replica) {
            EXPECT_EQ(layouts[1].stages[stage].replicas[replica].ranks,
                      std::vector<int>{expected[stage][replica]});
        }
    }
    const Proposer with_8_teams = make_length_proposer(make_length_rules(3, 8, 1, 2.0 / 3));
    EXPECT_EQ(find_shape(with_8_teams(observed, make_current(12)), "1,1,1 x 3,3,2").size(), 2U);
}

TEST(LengthProposer, PlacesTensorGroups) {
    LengthRules rules = make_length_rules(4, 4, 2);
    rules.shares = {2, 1};

    const auto candidates = make_length_proposer(rules)(make_observation({Lengths(8, 100)}), make_current(8));

    const auto grids = find_shape(candidates, "2,2 x 2,2");
    ASSERT_EQ(grids.size(), 2U);
    EXPECT_EQ(list_pipeline(grids[0], 0), (std::vector<int>{0, 1, 4, 5}));
    EXPECT_EQ(list_pipeline(grids[1], 1), (std::vector<int>{4, 5, 6, 7}));
    EXPECT_EQ(grids[0].stages[0].replicas[0].shares, (std::vector<std::size_t>{2, 1}));
}

// Rank 5 slows down the last team.
TEST(LengthProposer, GivesTheTeamOfASlowRankFewLayers) {
    plan::Observation observed = make_observation({Lengths(32, 100)});
    observed.slowness = {1, 1, 1, 1, 1, 3};

    const auto candidates = make_length_proposer(make_length_rules(7, 3, 2))(observed, make_current(32));

    EXPECT_EQ(find_shape(candidates, "3,3,1 x 1,1,1").size(), 1U);
    EXPECT_EQ(list_stage_counts(candidates).size(), candidates.size()) << "two placements of a cut";
}

TEST(LengthProposer, ProposesManyStagesForShortSamplesToo) {
    const auto candidates = make_length_proposer(make_length_rules(8, 8))(
        make_observation({Lengths(16, 16), Lengths(16, 8192)}), make_current(16));

    std::map<std::string, std::set<std::size_t>> stages;  // by reason
    for (const Candidate& candidate : candidates)
        stages[candidate.causes.back().reason].insert(candidate.layout->stages.size());
    EXPECT_EQ(stages["samples of up to 16 tokens"], (std::set<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(LengthProposer, OmitsStagesWithMoreReplicasThanMicrobatches) {
    const auto candidates =
        make_length_proposer(make_length_rules(8, 8))(make_observation({Lengths(16, 100)}), make_current(2));

    EXPECT_EQ(list_stage_counts(candidates), (std::set<std::size_t>{4, 5, 6, 7, 8}));
    for (const Candidate& candidate : candidates) {
        for (const layout::StageLayout& stage : candidate.layout->stages) EXPECT_LE(stage.replicas.size(), 2U);
    }
}

Lengths draw_lengths(Draw& draw) {
    Lengths lengths(1 + draw.below(12));
    const int longest = 1 << draw.within(0, 13);
    for (std::uint32_t& length : lengths) length = static_cast<std::uint32_t>(draw.within(0, longest));
    return lengths;
}

plan::Observation draw_observation(Draw& draw, int ranks) {
    plan::Observation observed = make_observation({draw_lengths(draw), draw_lengths(draw), draw_lengths(draw)});
    if (draw.one_in(2)) observed.slowness.assign(static_cast<std::size_t>(ranks), 1);
    for (double& slowness : observed.slowness)
        if (draw.one_in(4)) slowness = draw.within(2, 5);
    return observed;
}

TEST(LengthProposer, ProposesLayoutsThatPassTheCheck) {
    Draw draw(RandomKey{20261129}.then("layouts"));
    for (int repeat = 0; repeat < 100; ++repeat) {
        const int teams = draw.within(1, 8);
        const int team_size = draw.within(1, 3);
        LengthRules rules = make_length_rules(1 + draw.below(12), teams, team_size, 3);
        std::erase_if(rules.cuts, [&](std::size_t layer) { return layer > 0 && draw.one_in(3); });
        const auto candidates = make_length_proposer(rules)(draw_observation(draw, teams * team_size),
                                                            make_current(draw.within(teams, 20)));

        ASSERT_FALSE(candidates.empty());
        for (std::size_t i = 0; i < candidates.size(); ++i) {
            const layout::Layout& layout = candidates[i].layout;
            check_layout(layout, teams * team_size, rules.reduce_seconds.size(), "the candidate");
            EXPECT_TRUE(layout::has_even_turns(layout));
            for (std::size_t j = 0; j < i; ++j) EXPECT_NE(layout, candidates[j].layout);
        }
    }
}

// One proposer sees more classes than it remembers, and other lengths of the same classes.
TEST(LengthProposer, DependsOnlyOnItsArguments) {
    Draw draw(RandomKey{20261129}.then("history"));
    const LengthRules rules = make_length_rules(6, 6, 1, 2);
    const Proposer experienced = make_length_proposer(rules);
    for (int repeat = 0; repeat < 150; ++repeat) {
        const plan::Observation observed = draw_observation(draw, 6);
        const Candidate current = make_current(draw.within(1, 12));

        expect_equal(experienced(observed, current), make_length_proposer(rules)(observed, current));
    }
}

}  // namespace
}  // namespace trireme::policy
