#include "trireme/policy/steps.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/predict.hpp"
#include "unit/plan/small_layouts.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::policy {
namespace {

using plan::even_grid;
using plan::SampleVisit;
using schedule::Draw;
using validation::catch_message;
using validation::says;
using Samples = std::vector<StepSample>;
using Formed = std::vector<std::vector<SampleVisit>>;

constexpr std::size_t enough_rows = 1'000'000;

// Nanoseconds of a forward: those of each kernel call, of each row and of each squared length. A backward takes
// twice the time of a forward.
struct StageTimes {
    double call = 0;
    double row = 0;
    double square = 0;
};

class TimedStages {
public:
    explicit TimedStages(std::vector<StageTimes> times) : times_(std::move(times)) {
        for (const StageTimes& each : times_) {
            plan::PassFormula pass{
                .kernels = {{.kernel = "rows", .bytes = {{each.call, 0, each.row, 0, 0, 0}}},
                            {.kernel = "squares", .bytes = {{each.call, 0, 0, 0, each.square, 0}}}}};
            plan::TrainingFormulas formulas{.forward = pass, .backward = pass};
            for (plan::KernelFormula& kernel : formulas.backward.kernels) kernel.calls = 2;
            works_.emplace_back(std::vector{formulas}, 1000);
        }
    }

    StageSums make_sums() const {
        StageSums stages;
        for (const plan::StageWork& work : works_) {
            stages.index_of_stage.push_back(stages.sums.size());
            stages.sums.emplace_back(
                work, false, [](std::string_view, const plan::KernelCall& call) { return 1e-9 * call.bytes; });
        }
        return stages;
    }

    // Returns the nanoseconds of both passes of a micro-batch through a stage; 0 if it is empty.
    double compute_time(std::size_t stage, const std::vector<std::size_t>& lengths, bool is_packed) const {
        if (lengths.empty()) return 0;
        const StageTimes& times = times_[stage];
        double square_sum = 0;
        for (const std::size_t length : lengths) square_sum += static_cast<double>(length * length);
        return 3 * (2 * times.call + times.row * static_cast<double>(count_rows(lengths, is_packed)) +
                    times.square * square_sum);
    }

    static std::size_t count_rows(const std::vector<std::size_t>& lengths, bool is_packed) {
        if (is_packed) return std::accumulate(lengths.begin(), lengths.end(), std::size_t{0});
        return lengths.empty() ? 0 : lengths.size() * *std::ranges::max_element(lengths);
    }

private:
    std::vector<StageTimes> times_;
    std::deque<plan::StageWork> works_;
};

TimedStages equal_stages(std::size_t count) {
    return TimedStages(std::vector<StageTimes>(count, {.call = 100, .row = 50, .square = 0.5}));
}

Samples samples_with(const std::vector<std::size_t>& lengths) {
    Samples samples;
    for (const std::size_t length : lengths)
        samples.push_back(
            {.visit = {.epoch = 0, .sample = samples.size()}, .length = length, .predicted_rows = length});
    return samples;
}

// Most samples are short. Some visits are those of the same sample in two epochs.
Samples draw_step_samples(std::size_t count, Draw& draw) {
    Samples samples;
    for (std::size_t s = 0; s < count; ++s) {
        const std::size_t length = 1 + draw.below(draw.one_in(4) ? 400 : 100);
        samples.push_back({.visit = {.epoch = s % 2, .sample = s / 2},
                           .length = length,
                           .predicted_rows = draw.below(length)});
    }
    return samples;
}

void shuffle(Samples& samples, Draw& draw) {
    for (std::size_t s = samples.size(); s > 1; --s) std::swap(samples[s - 1], samples[draw.below(s)]);
}

// Returns the lengths of the samples of each micro-batch.
std::vector<std::vector<std::size_t>> find_lengths(const Formed& microbatches, const Samples& samples) {
    std::vector<std::vector<std::size_t>> lengths;
    for (const std::vector<SampleVisit>& visits : microbatches) {
        std::vector<std::size_t>& lengths_of_microbatch = lengths.emplace_back();
        for (const SampleVisit& visit : visits)
            lengths_of_microbatch.push_back(std::ranges::find(samples, visit, &StepSample::visit)->length);
    }
    return lengths;
}

// Returns the visits in ascending order.
std::vector<SampleVisit> sort_visits(std::vector<SampleVisit> visits) {
    std::ranges::sort(visits, {}, [](const SampleVisit& each) { return std::pair(each.epoch, each.sample); });
    return visits;
}

void expect_same_samples(const Formed& microbatches, const Samples& samples) {
    std::vector<SampleVisit> formed;
    std::vector<SampleVisit> given;
    for (const std::vector<SampleVisit>& visits : microbatches)
        formed.insert(formed.end(), visits.begin(), visits.end());
    for (const StepSample& sample : samples) given.push_back(sample.visit);
    EXPECT_EQ(sort_visits(formed), sort_visits(given));
}

plan::Plan plan_grid(int pipe, int data, int microbatches_each, const std::string& schedule = "1f1b") {
    return plan::make_plan({.layout = even_grid({.pipe = pipe, .data = data}),
                            .schedule = schedule,
                            .microbatches = microbatches_each});
}

// Returns a plan whose stages have two replicas, with the given turns.
plan::Plan plan_turns(std::size_t first_turns, std::size_t second_turns, int microbatches) {
    layout::Layout layout = plan::uneven_layout({2, 2});
    for (layout::StageLayout& stage : layout.stages) {
        stage.replicas[0].turns = first_turns;
        stage.replicas[1].turns = second_turns;
    }
    return plan::make_plan({.layout = layout, .microbatches = microbatches, .is_per_replica = false});
}

plan::Plan plan_uneven(const std::vector<int>& replicas, int microbatches) {
    return plan::make_plan({.layout = plan::uneven_layout(replicas), .microbatches = microbatches});
}

// The work of the teams of a stage, relative to the work that is in proportion to their turns.
struct TeamWork {
    double lightest = 0;
    double heaviest = 0;
};

// Returns the extremes over all stages and 5 random steps of 64 samples.
TeamWork find_team_work(const plan::Plan& plan, bool is_packed) {
    const schedule::PipelineShape& shape = plan.training.shape;
    const TimedStages stages = equal_stages(shape.holders.size());
    StepFormer former(plan.training, {.is_packed = is_packed, .max_rows = enough_rows}, stages.make_sums());
    Draw draw(RandomKey{20261128}.then("replicas"));
    TeamWork extremes{.lightest = 1, .heaviest = 1};
    for (int step = 0; step < 5; ++step) {
        const Samples samples = draw_step_samples(64, draw);
        const auto lengths = find_lengths(former.form(samples).microbatches, samples);
        for (std::size_t stage = 0; stage < shape.holders.size(); ++stage) {
            std::map<int, double> work_of_teams;
            double work = 0;
            for (std::size_t m = 0; m < lengths.size(); ++m) {
                const double time = stages.compute_time(stage, lengths[m], is_packed);
                work_of_teams[shape.executor[stage][m]] += time;
                work += time;
            }
            for (const auto& [team, team_work] : work_of_teams) {
                const int turns = shape.count_turns(team, static_cast<int>(stage));
                const double relative_work = team_work * shape.microbatches / (work * turns);
                extremes.lightest = std::min(extremes.lightest, relative_work);
                extremes.heaviest = std::max(extremes.heaviest, relative_work);
            }
        }
    }
    return extremes;
}

// Some replicas execute one micro-batch more than others. With 10 micro-batches or more per step, this is far
// less than the limits allow.
void expect_work_in_proportion(const plan::Plan& plan) {
    for (const bool is_packed : {false, true}) {
        SCOPED_TRACE(cat("packed ", is_packed, ", micro-batches ", plan.microbatches(), ", layout\n",
                         to_string(plan.layout)));

        const TeamWork work = find_team_work(plan, is_packed);

        EXPECT_LE(work.heaviest, 4.0 / 3);
        EXPECT_GE(work.lightest, 1.0 / 2);
    }
}

TEST(StepFormer, UsesEverySampleOnceWithinTheLimits) {
    Draw draw(RandomKey{20261128}.then("limits"));
    for (const plan::Plan& plan : {plan_grid(1, 1, 8), plan_grid(2, 2, 6, "gpipe"), plan_grid(3, 1, 9, "zb-h1"),
                                   plan_uneven({3, 3, 2}, 12), plan_turns(3, 1, 8)}) {
        const TimedStages stages = equal_stages(plan.layout.stages.size());
        for (const bool is_packed : {false, true}) {
            for (int step = 0; step < 5; ++step) {
                const Samples samples = draw_step_samples(1 + draw.below(30), draw);
                std::size_t tokens = 0;
                for (const StepSample& sample : samples) tokens += sample.length;
                const std::size_t max_rows = 400 + tokens / 4;
                StepFormer former(plan.training, {.is_packed = is_packed, .max_rows = max_rows},
                                  stages.make_sums());

                const Formed microbatches = former.form(samples).microbatches;

                EXPECT_EQ(std::ssize(microbatches), plan.microbatches());
                expect_same_samples(microbatches, samples);
                for (const std::vector<std::size_t>& lengths : find_lengths(microbatches, samples))
                    EXPECT_LE(TimedStages::count_rows(lengths, is_packed), max_rows);
            }
        }
    }
}

TEST(StepFormer, DependsOnTheSamplesButNotOnTheirOrder) {
    Draw draw(RandomKey{20261128}.then("order"));
    for (const plan::Plan& plan : {plan_grid(2, 2, 4), plan_uneven({3, 3, 2}, 12), plan_turns(3, 2, 10)}) {
        const TimedStages stages = equal_stages(plan.layout.stages.size());
        const MicrobatchRules rules{.is_packed = draw.one_in(2), .max_rows = enough_rows};
        StepFormer former(plan.training, rules, stages.make_sums());
        for (int step = 0; step < 5; ++step) {
            Samples samples = draw_step_samples(40, draw);
            const Formed microbatches = former.form(samples).microbatches;
            shuffle(samples, draw);

            EXPECT_EQ(former.form(samples).microbatches, microbatches);
            EXPECT_EQ(StepFormer(plan.training, rules, stages.make_sums()).form(samples).microbatches,
                      microbatches)
                << "earlier steps have no effect";
        }
    }
}

TEST(StepFormer, LeavesMicrobatchesWithoutSamplesEmpty) {
    const TimedStages stages = equal_stages(2);
    StepFormer former(plan_grid(2, 2, 4).training, {.is_packed = false, .max_rows = enough_rows},
                      stages.make_sums());
    const Samples samples = samples_with({10, 500, 30});

    const Formed microbatches = former.form(samples).microbatches;

    EXPECT_EQ(microbatches.size(), 8);
    expect_same_samples(microbatches, samples);
}

// A call takes a long time, so that few micro-batches are better where memory allows them.
TEST(StepFormer, SeparatesASampleThatFitsOnlyAlone) {
    const TimedStages stages({{.call = 1e6, .row = 1}});
    const Samples samples = samples_with({10, 99, 10, 10});
    for (const bool is_packed : {false, true}) {
        StepFormer former(plan_grid(1, 1, 4).training, {.is_packed = is_packed, .max_rows = 100},
                          stages.make_sums());

        auto lengths = find_lengths(former.form(samples).microbatches, samples);

        std::ranges::sort(lengths);
        EXPECT_EQ(lengths, (std::vector<std::vector<std::size_t>>{{}, {}, {10, 10, 10}, {99}}));
    }
}

TEST(StepFormer, RejectsASampleThatExceedsTheRowLimit) {
    const TimedStages stages = equal_stages(1);
    for (const bool is_packed : {false, true}) {
        StepFormer former(plan_grid(1, 1, 4).training, {.is_packed = is_packed, .max_rows = 1000},
                          stages.make_sums());

        const std::string message = catch_message<ConfigError>([&] {
            former.form(samples_with({10, 20, 1001, 30}));
        });

        EXPECT_TRUE(says(message, "sample 2 has 1,001 tokens"));
        EXPECT_TRUE(says(message, "memory suffices for micro-batches of 1,000 tokens"));
    }
}

TEST(StepFormer, RejectsStepsThatNeedMoreMicrobatchesThanThePlanHas) {
    const TimedStages stages = equal_stages(1);
    for (const bool is_packed : {false, true}) {
        StepFormer former(plan_grid(1, 1, 2).training, {.is_packed = is_packed, .max_rows = 100},
                          stages.make_sums());

        const std::string message = catch_message<ConfigError>([&] {
            former.form(samples_with({60, 60, 60}));
        });

        EXPECT_TRUE(says(message, "--microbatches gives 2 micro-batches per step, too few"));
        EXPECT_TRUE(says(message, "within 100 tokens; raise --microbatches"));
    }
}

// A call takes a long time, so that one large micro-batch is faster than two small ones, even if its rows take
// longer.
TEST(StepFormer, IsChosenForTheShortestStepOfThoseThatCanFormIt) {
    const plan::Plan plan = plan_grid(1, 1, 2);
    const TimedStages stages({{.call = 1e6, .row = 1}});
    const TimedStages slower_stages({{.call = 1e6, .row = 2}});
    std::deque<StepFormer> formers;
    formers.emplace_back(plan.training, MicrobatchRules{.max_rows = 100}, stages.make_sums());
    formers.emplace_back(plan.training, MicrobatchRules{.max_rows = 100}, stages.make_sums());
    formers.emplace_back(plan.training, MicrobatchRules{.max_rows = 300}, slower_stages.make_sums());
    const auto find_former = [&](const std::vector<std::size_t>& lengths) {
        return form_fastest(formers, samples_with(lengths)).former;
    };

    EXPECT_EQ(find_former({50, 50}), 0) << "the first two take equally long";
    EXPECT_EQ(find_former({50, 50, 50}), 2) << "the others need two micro-batches";
    EXPECT_EQ(find_former({60, 70, 80}), 2) << "the others need more micro-batches than the plan has";
    EXPECT_EQ(find_former({101}), 2);
    EXPECT_TRUE(
        says(catch_message<ConfigError>([&] { find_former({301}); }), "micro-batches of 300 tokens only"));
}

// Every sample fills a micro-batch of its own, and each micro-batch is a class.
TEST(StepFormer, ChoosesTheOrderWithTheShortestStep) {
    Draw draw(RandomKey{20261128}.then("classes"));
    for (const char* schedule : {"1f1b", "gpipe"}) {
        const plan::Plan plan = plan_grid(3, 1, 4, schedule);
        schedule::StepClock clock(plan.training.phases(), plan.training.shape);
        for (int step = 0; step < 10; ++step) {
            std::vector<StageTimes> times;
            for (int stage = 0; stage < 3; ++stage)
                times.push_back({.call = static_cast<double>(draw.below(10'000)),
                                 .row = static_cast<double>(draw.below(100)),
                                 .square = static_cast<double>(draw.below(3))});
            const TimedStages stages(times);
            const Samples samples = samples_with({100, 60, 80, 70});
            StepFormer former(plan.training, {.is_packed = true, .max_rows = 100}, stages.make_sums());
            const auto predict_seconds = [&](const std::vector<std::vector<std::size_t>>& lengths) {
                std::vector<std::vector<schedule::StageCost>> costs(3);
                for (std::size_t stage = 0; stage < 3; ++stage)
                    for (const std::vector<std::size_t>& each : lengths) {
                        const double forward = stages.compute_time(stage, each, true) / 3;
                        costs[stage].push_back(
                            {.forward = forward, .backward_input = forward, .backward_weight = forward});
                    }
                return clock.predict_seconds(schedule::StepCosts(costs));
            };

            const double seconds = predict_seconds(find_lengths(former.form(samples).microbatches, samples));

            std::vector<std::vector<std::size_t>> lengths{{60}, {70}, {80}, {100}};
            double shortest = seconds;
            do shortest = std::min(shortest, predict_seconds(lengths));
            while (std::ranges::next_permutation(lengths).found);
            EXPECT_NEAR(seconds, shortest, 10) << "nanoseconds are rounded";
        }
    }
}

TEST(StepFormer, BalancesTheWorkOfReplicasOnAGrid) {
    for (const int pipe : {2, 4})
        for (const int data : {2, 3, 4}) expect_work_in_proportion(plan_grid(pipe, data, 4));
}

// Without a pipeline, all replicas must still have work, even if a single micro-batch needed fewer calls.
TEST(StepFormer, BalancesTheWorkOfReplicasWithoutAPipeline) {
    for (const int data : {2, 3, 4}) expect_work_in_proportion(plan_grid(1, data, 8));
}

TEST(StepFormer, GivesWorkInProportionToTurns) {
    expect_work_in_proportion(plan_turns(2, 1, 12));
    expect_work_in_proportion(plan_turns(3, 1, 12));
    expect_work_in_proportion(plan_turns(3, 2, 20));
    expect_work_in_proportion(plan_uneven({3, 3, 2}, 12));
    expect_work_in_proportion(plan_uneven({2, 1}, 12));
}

// The replicas have 7 and 3, 7 and 5, or 9 and 11 turns; with 3, 3 and 2 replicas, 2 or 1 turns.
TEST(StepFormer, GivesWorkInProportionToTurnsWithoutACommonFactor) {
    expect_work_in_proportion(plan_turns(2, 1, 10));
    expect_work_in_proportion(plan_turns(3, 2, 12));
    expect_work_in_proportion(plan_turns(4, 5, 20));
    expect_work_in_proportion(plan_uneven({3, 3, 2}, 16));
}

}  // namespace
}  // namespace trireme::policy
