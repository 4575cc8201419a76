#include <gtest/gtest.h>

#include <string>

#include "policy/planner/published_search.hpp"
#include "unit/policy/published_plans.hpp"

namespace trireme::policy {
namespace {

using Degrees = std::vector<std::size_t>;

// A row of the planner table of FlexPipe, in GB.
struct PlannerRow {
    const char* model;
    std::size_t blocks;
    int teams;
    std::uint32_t longest;
    int peak;
    std::size_t min_stages;
    Degrees degrees;  // replicas per stage of the plan that FlexPipe used
    int deficit;      // bytes that recomputation and offload save
};

const PlannerRow planner_rows[] = {
    {"BERT96", 96, 8, 512, 140, 2, {4, 4}, 0},
    {"BERT96", 96, 8, 1024, 175, 3, {4, 4}, 15},
    {"BERT96", 96, 8, 2048, 238, 3, {3, 3, 2}, 0},
    {"BERT96", 96, 8, 4096, 352, 5, {2, 2, 2, 2}, 32},
    {"BERT96", 96, 8, 8192, 596, 8, {1, 1, 2, 1, 1, 1, 1}, 36},
    {"GPT3_35B", 16, 16, 512, 185, 3, {8, 8}, 25},
    {"GPT3_35B", 16, 16, 2048, 315, 4, {4, 4, 4, 4}, 0},
    {"GPT3_35B", 16, 16, 2560, 358, 5, {4, 4, 4, 4}, 38},
    {"GPT3_35B", 16, 16, 3072, 397, 5, {3, 3, 3, 4, 3}, 0},
    {"GPT3_35B", 16, 16, 2560, 358, 5, {3, 3, 3, 4, 3}, 0},
};

std::vector<std::size_t> divide_blocks(std::size_t blocks, std::size_t stages) {
    std::vector<std::size_t> divided(stages, blocks / stages);
    for (std::size_t stage = 0; stage < blocks % stages; ++stage) ++divided[stage];
    return divided;
}

// Calls visit(parts) for each way to divide `total` into `count` parts from `min` to `max`.
template <class Visit>
void visit_divisions(std::size_t total, std::size_t count, std::size_t min, std::size_t max, Visit&& visit,
                     std::vector<std::size_t> parts = {}) {
    if (parts.size() == count) {
        if (total == 0) visit(parts);
        return;
    }
    for (std::size_t part = min; part <= std::min(max, total); ++part) {
        parts.push_back(part);
        visit_divisions(total - part, count, min, max, visit, parts);
        parts.pop_back();
    }
}

class PublishedTable : public testing::TestWithParam<PlannerRow> {};

TEST_P(PublishedTable, HasTheFewestStagesAndTheDeficit) {
    const PlannerRow& row = GetParam();
    PublishedRules rules = make_published_rules(row.blocks, row.teams);
    rules.team_bytes = 80e9;
    rules.peak_bytes = [&](const plan::StepAhead&) { return row.peak * 1e9; };
    rules.memory_plan_seconds = [](const plan::StepAhead&) { return std::optional(1.0); };
    const Candidate current{
        .layout = make_staged_layout(divide_blocks(row.blocks, row.degrees.size()), row.degrees),
        .microbatches = 32};
    StageCountOutlook outlook(1e6);

    const PublishedVerdict verdict =
        decide_published({.ahead = {{.lengths = {row.longest}}}}, current, rules, outlook);

    EXPECT_EQ(find_fewest_stages(row.peak * 1e9, 80e9, static_cast<std::size_t>(row.teams)), row.min_stages);
    EXPECT_EQ(std::max(0.0, verdict.peak_bytes - verdict.pooled_bytes), row.deficit * 1e9);
    EXPECT_EQ(verdict.outcome, row.deficit > 0 ? Outcome::memory : Outcome::keep);
}

TEST_P(PublishedTable, HasPlansWithinTheBounds) {
    const PlannerRow& row = GetParam();
    const std::size_t stages = row.degrees.size();
    const PublishedSizes sizes{
        .blocks = row.blocks, .teams = static_cast<std::size_t>(row.teams), .max_blocks = row.blocks};

    const CutBounds bounds = make_published_bounds(sizes, stages);

    int found = 0;
    visit_divisions(sizes.teams, stages, bounds.min_replicas, bounds.max_replicas,
                    [&](const Degrees& degrees) { found += degrees == row.degrees ? 1 : 0; });
    EXPECT_EQ(found, 1);
    for (const std::size_t blocks : divide_blocks(row.blocks, stages)) {
        EXPECT_GE(blocks, bounds.min_runs);
        EXPECT_LE(blocks, bounds.max_runs);
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, PublishedTable, testing::ValuesIn(planner_rows), [](const auto& test) {
    const PlannerRow& row = test.param;
    return std::string(row.model) + "_with_" + std::to_string(row.longest) + "_tokens_in_" +
           std::to_string(row.degrees.size()) + "_stages";
});

}  // namespace
}  // namespace trireme::policy
