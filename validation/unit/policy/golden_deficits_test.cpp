#include <gtest/gtest.h>

#include <tuple>

#include "small_step.hpp"

namespace trireme::policy {
namespace {

constexpr std::size_t gigabyte = 1'000'000'000;
constexpr std::size_t rank_limit = 80 * gigabyte;

struct GoldenModel {
    const char* name = "";
    int layers = 0;
    double parameters = 0;
    // Bytes of all ranks that do not grow with the longest sample, by a line through the peaks of the table.
    std::size_t state_bytes = 0;
};

constexpr GoldenModel bert96{"BERT96", 96, 1.36e9, 110 * gigabyte};
constexpr GoldenModel gpt3b{"GPT3_35B", 16, 3.35e9, 142 * gigabyte};

struct GoldenRow {
    GoldenModel model;
    int ranks = 0;
    int longest_sample = 0;
    std::size_t peak_gigabytes = 0;  // of all stages
    int stages = 0;
    std::size_t deficit_gigabytes = 0;  // of all stages, if each may use 80 GB
};

// The planner table of FlexPipe. The costs by which it divides a deficit between recomputation and offload are
// not published, so any division is right.
constexpr GoldenRow golden_rows[] = {
    {bert96, 8, 512, 140, 2, 0},   {bert96, 8, 1024, 175, 2, 15}, {bert96, 8, 2048, 238, 3, 0},
    {bert96, 8, 4096, 352, 4, 32}, {bert96, 8, 8192, 596, 7, 36}, {gpt3b, 16, 512, 185, 2, 25},
    {gpt3b, 16, 2048, 315, 4, 0},  {gpt3b, 16, 2560, 358, 4, 38}, {gpt3b, 16, 3072, 397, 5, 0},
    {gpt3b, 16, 2560, 358, 5, 0},
};

// Returns the options of a micro-batch, sorted by time. A block needs 10, 6 or 1 times `unit` bytes, depending
// on its level. More than 8 blocks have at most two levels, as in a training.
std::vector<PassOption> list_golden_options(std::size_t blocks, std::size_t unit, double block_seconds) {
    std::vector<PassOption> options;
    for (std::size_t full = 0; full <= blocks; ++full) {
        for (std::size_t selective = 0; full + selective <= blocks; ++selective) {
            const std::size_t none = blocks - full - selective;
            if (blocks > 8 && full > 0 && selective > 0 && none > 0) continue;
            PassOption& option = options.emplace_back();
            option.levels.assign(full, plan::Recompute::full);
            option.levels.resize(full + selective, plan::Recompute::selective);
            option.levels.resize(blocks, plan::Recompute::none);
            option.extra.backward_input =
                block_seconds * (0.15 * static_cast<double>(selective) + static_cast<double>(full));
            option.bytes = {{.stash = unit * (10 * none + 6 * selective + full),
                             .workspaces = {unit, 2 * unit + (full > 0 ? 10 * unit : 0), 0, 0}}};
        }
    }
    std::ranges::stable_sort(options, {}, [](const PassOption& option) { return option.extra.backward_input; });
    return options;
}

// Returns a step with one rank per stage. The ranks need equal parts of the peak of the row.
SmallStep make_golden_step(const GoldenRow& row, const std::string& schedule, bool may_offload) {
    constexpr int microbatches = 8;
    SmallStep step;
    step.shape = schedule::make_grid_shape(row.stages, 1, 1, microbatches);
    const std::vector<schedule::Program> programs =
        lower(generate(schedule::require_schedule(schedule), step.shape), step.shape);
    const auto stages = static_cast<std::size_t>(row.stages);
    const auto layers = static_cast<std::size_t>(row.model.layers);
    const std::size_t peak = row.peak_gigabytes * gigabyte;
    const double block_seconds = 2 * row.model.parameters / row.model.layers * row.longest_sample / 1e14;
    for (std::size_t s = 0; s < stages; ++s) {
        const std::size_t blocks = layers / stages + (s < layers % stages ? 1 : 0);
        TeamOptions& team = step.teams.emplace_back();
        team.team = static_cast<int>(s);
        team.uses = list_buffer_uses(programs[s], team.team, step.shape);
        team.row_bytes = {std::vector<std::size_t>(microbatches, 0)};
        const std::size_t stashes = count_buffers_in_use(team.uses, schedule::BufferKind::stash);
        const std::size_t unit = (peak - row.model.state_bytes) / stages / stashes / blocks / 640 * 64;
        const double seconds = static_cast<double>(blocks) * block_seconds;
        step.costs.emplace_back(
            microbatches,
            schedule::StageCost{.forward = seconds, .backward_input = seconds, .backward_weight = seconds});
        PassChoices first;
        for (int m = 0; m < microbatches; ++m) {
            team.passes[{team.team, m}] = list_golden_options(blocks, unit, block_seconds);
            first[{team.team, m}] = 0;
        }
        const std::size_t state = (peak + s) / stages - find_largest(team, first);
        team.max_bytes = {rank_limit - state};
        if (!may_offload) continue;
        team.offloadable_bytes = {state / 2};
        team.offload_time_per_byte = 1 / 64e9;
    }
    return step;
}

// Returns the bytes by which the buffers of a stage exceed the limit. The stage offloads these.
std::size_t find_excess(const TeamOptions& team, const PassChoices& choices) {
    const std::size_t need = find_largest(team, choices);
    return need - std::min(need, team.max_bytes[0]);
}

// Returns the bytes that the next higher level of one block saves at most, in one micro-batch.
std::size_t find_level_saving(const TeamOptions& team) {
    const PassOption& all_full = team.passes.begin()->second.back();
    return 5 * all_full.bytes[0].stash / all_full.levels.size();
}

class GoldenDeficits : public testing::TestWithParam<std::tuple<GoldenRow, const char*, bool>> {};

TEST_P(GoldenDeficits, AreSavedUpToOneLevelOfABlock) {
    const auto& [row, name, may_offload] = GetParam();
    const SmallStep step = make_golden_step(row, name, may_offload);
    schedule::StepClock clock = make_clock(step, name);

    const auto chosen = choose_recomputation(step.teams, step.costs, {}, clock);

    ASSERT_TRUE(chosen);
    std::size_t deficits = 0;
    for (std::size_t s = 0; s < step.teams.size(); ++s) {
        const TeamOptions& team = step.teams[s];
        const PassChoices& choices = chosen->teams[s];
        PassChoices first = choices;
        for (auto& [key, option] : first) option = 0;
        const std::size_t deficit = find_excess(team, first);
        deficits += deficit;
        EXPECT_TRUE(fits(team, choices));  // so at least the deficit is saved
        if (deficit == 0) {
            EXPECT_EQ(choices, first);
            continue;
        }
        const std::size_t recomputed = find_largest(team, first) - find_largest(team, choices);
        EXPECT_LT(recomputed, deficit + find_level_saving(team));
    }
    EXPECT_EQ(deficits, row.deficit_gigabytes * gigabyte);  // the step has the deficits of the table
    if (deficits == 0) {
        EXPECT_EQ(chosen->offload_wait, 0);
    }
}

INSTANTIATE_TEST_SUITE_P(Rows, GoldenDeficits,
                         testing::Combine(testing::ValuesIn(golden_rows), testing::Values("gpipe", "1f1b"),
                                          testing::Bool()),
                         [](const auto& test) {
                             const GoldenRow& row = std::get<0>(test.param);
                             return std::string(row.model.name) + "_on_" + std::to_string(row.ranks) +
                                    "_ranks_with_" + std::to_string(row.longest_sample) + "_tokens_in_" +
                                    std::to_string(row.stages) + "_stages_of_" + std::get<1>(test.param) +
                                    (std::get<2>(test.param) ? "_with_offload" : "");
                         });

}  // namespace
}  // namespace trireme::policy
