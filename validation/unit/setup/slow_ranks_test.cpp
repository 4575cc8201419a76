#include "trireme/setup/slow_ranks.hpp"

#include <gtest/gtest.h>

#include <set>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;

const std::vector<config::SlowRank> two_ranks{{.rank = 1, .factor = 4, .first_step = 3, .last_step = 5},
                                              {.rank = 0, .factor = 1.5},
                                              {.rank = 1, .factor = 2, .first_step = 5}};

SlowRun run_of(const std::vector<config::SlowRank>& slow) {
    return read_slow_run(slow, {.ranks = 3, .steps = 100, .samples = 10, .batch = 4});
}

double find_factor(const SlowRun& run, int rank, std::size_t step) {
    return find_slowness(run, rank, step).all;
}

// Returns the only slow rank of a step, or -1 if no rank is slow.
int slow_rank_in(const SlowRun& run, std::size_t step) {
    int slow = -1;
    for (int rank = 0; rank < run.schedule.ranks; ++rank) {
        if (find_slowness(run, rank, step) == device::SlowFactors{}) continue;
        EXPECT_EQ(slow, -1) << "ranks " << slow << " and " << rank << " in step " << step;
        slow = rank;
    }
    return slow;
}

std::vector<int> slow_ranks_to(const SlowRun& run, std::size_t last) {
    std::vector<int> ranks;
    for (std::size_t step = 1; step <= last; ++step) ranks.push_back(slow_rank_in(run, step));
    return ranks;
}

std::vector<std::size_t> changes_to(const SlowRun& run, std::size_t last) {
    std::vector<std::size_t> steps;
    for (std::size_t step = 1; step <= last; ++step) {
        if (has_slowness_change(run, step)) steps.push_back(step);
    }
    return steps;
}

TEST(SlowRanks, AreSlowFromTheirFirstStepThroughTheirLast) {
    const SlowRun run = run_of(two_ranks);

    EXPECT_EQ(find_factor(run, 1, 2), 1);
    EXPECT_EQ(find_factor(run, 1, 3), 4);
    EXPECT_EQ(find_factor(run, 1, 6), 2);
    EXPECT_EQ(find_factor(run, 0, 1), 1.5);
    EXPECT_EQ(find_factor(run, 2, 4), 1);
    EXPECT_EQ(find_slowness(SlowRun{}, 0, 1), device::SlowFactors{});
    EXPECT_EQ(changes_to(run, 8), (std::vector<std::size_t>{1, 3, 5, 6}));
}

TEST(SlowRanks, MultiplyTheirFactorsWhereStepsOverlap) { EXPECT_EQ(find_factor(run_of(two_ranks), 1, 5), 8); }

TEST(SlowRanks, KeepSeparateFactorsForMatmuls) {
    const SlowRun run =
        run_of({{.rank = 1, .factor = 4, .kernels = config::SlowKernels::matmuls},
                {.rank = 1, .factor = 2, .first_step = 2},
                {.rank = 1, .factor = 3, .first_step = 3, .kernels = config::SlowKernels::matmuls}});

    EXPECT_EQ(find_slowness(run, 1, 1), (device::SlowFactors{.all = 1, .matmuls = 4}));
    EXPECT_EQ(find_slowness(run, 1, 2), (device::SlowFactors{.all = 2, .matmuls = 4}));
    EXPECT_EQ(find_slowness(run, 1, 3), (device::SlowFactors{.all = 2, .matmuls = 12}));
    EXPECT_EQ(find_slowness(run, 0, 3), device::SlowFactors{});
}

// Epochs have 10 samples and a step takes 4. Steps begin with samples 0, 4, 8 of the first epoch; 12, 16 of the
// second; 20, 24, 28 of the third; 32, 36 of the fourth.
TEST(SlowRanksInTurn, ChangeWithTheEpochOfTheFirstSampleOfAStep) {
    const SlowRun run = run_of({{.factor = 4, .choice = config::SlowChoice::turn}});

    EXPECT_EQ(slow_ranks_to(run, 11), (std::vector{0, 0, 0, 1, 1, 2, 2, 2, 0, 0, 1}));
    EXPECT_EQ(changes_to(run, 11), (std::vector<std::size_t>{1, 4, 6, 9, 11}));
    EXPECT_EQ(find_factor(run, 2, 7), 4);
}

// A batch may hold several epochs; some ranks then miss their turn.
TEST(SlowRanksInTurn, MayMissATurnIfABatchSpansSeveralEpochs) {
    const SlowRun run = read_slow_run({{.factor = 4, .choice = config::SlowChoice::turn}},
                                      {.ranks = 4, .steps = 9, .samples = 2, .batch = 6});

    EXPECT_EQ(slow_ranks_to(run, 5), (std::vector{0, 3, 2, 1, 0}));
}

TEST(SlowRanksInTurn, ChangeAfterTheGivenNumberOfSteps) {
    const SlowRun run = run_of(
        {{.factor = 4, .first_step = 2, .last_step = 6, .choice = config::SlowChoice::turn, .every = 2}});

    EXPECT_EQ(slow_ranks_to(run, 8), (std::vector{-1, 0, 1, 1, 2, 2, -1, -1}));
    EXPECT_EQ(changes_to(run, 8), (std::vector<std::size_t>{2, 3, 5, 7}));
}

TEST(SlowRanksInTurn, StayTheSameInAJobWithOneRank) {
    const SlowRun run = read_slow_run({{.factor = 4, .choice = config::SlowChoice::turn, .every = 1}},
                                      {.ranks = 1, .steps = 9, .samples = 2, .batch = 6});

    EXPECT_EQ(changes_to(run, 9), std::vector<std::size_t>{1});
}

class RandomSlowRanks : public testing::Test {
protected:
    static constexpr std::size_t steps = 400;

    static SlowRun drawn(std::uint64_t seed, std::vector<config::SlowRank> slow) {
        return read_slow_run(std::move(slow),
                             {.ranks = 4, .steps = steps, .samples = 8, .batch = 4, .seed = seed});
    }

    static config::SlowRank every(std::size_t period) {
        return {.factor = 2, .choice = config::SlowChoice::random, .every = period, .highest_factor = 4};
    }
};

TEST_F(RandomSlowRanks, AreDeterminedByTheSeed) {
    const SlowRun run = drawn(7, {every(1)});
    const SlowRun again = drawn(7, {every(1)});

    EXPECT_EQ(slow_ranks_to(run, steps), slow_ranks_to(again, steps));
    for (std::size_t step = 1; step <= steps; ++step) {
        const int slow = slow_rank_in(run, step);
        EXPECT_EQ(find_slowness(run, slow, step), find_slowness(again, slow, step));
    }
    EXPECT_NE(slow_ranks_to(drawn(8, {every(1)}), steps), slow_ranks_to(run, steps));
}

// The results lie within five standard deviations of the expectation for 400 draws.
TEST_F(RandomSlowRanks, AreUniformOverRanksAndFactors) {
    const SlowRun run = drawn(7, {every(1)});
    std::vector<int> times(4);
    std::set<double> factors;
    double sum = 0;

    for (std::size_t step = 1; step <= steps; ++step) {
        const int slow = slow_rank_in(run, step);
        ASSERT_GE(slow, 0);
        const double factor = find_factor(run, slow, step);
        EXPECT_GE(factor, 2);
        EXPECT_LT(factor, 4);
        times[static_cast<std::size_t>(slow)] += 1;
        factors.insert(factor);
        sum += factor;
    }

    for (const int each : times) EXPECT_NEAR(each, 100, 5 * 8.7);  // sqrt(400 * 1/4 * 3/4)
    EXPECT_NEAR(sum / steps, 3, 5 * 0.029);                        // 2 / sqrt(12 * 400)
    EXPECT_EQ(factors.size(), steps);
}

TEST_F(RandomSlowRanks, StayTheSameForTheirPeriod) {
    const SlowRun run = drawn(7, {every(3)});
    const SlowRun of_epochs =
        drawn(7, {{.factor = 2, .choice = config::SlowChoice::random}});  // epochs of two steps

    for (std::size_t step = 1; step <= 30; ++step) {
        const bool is_new = step % 3 == 1;
        EXPECT_EQ(has_slowness_change(run, step), is_new) << step;
        if (is_new) continue;
        const int slow = slow_rank_in(run, step);
        EXPECT_EQ(find_slowness(run, slow, step), find_slowness(run, slow, step - 1)) << step;
    }
    for (std::size_t step = 2; step <= 30; step += 2) {
        EXPECT_EQ(slow_rank_in(of_epochs, step), slow_rank_in(of_epochs, step - 1)) << step;
    }
}

TEST_F(RandomSlowRanks, HaveTheGivenFactorIfNoRangeIsGiven) {
    const SlowRun run = drawn(7, {{.factor = 2, .choice = config::SlowChoice::random, .every = 1}});

    for (std::size_t step = 1; step <= steps; ++step)
        EXPECT_EQ(find_factor(run, slow_rank_in(run, step), step), 2);
}

TEST_F(RandomSlowRanks, AreDrawnIndependentlyForTwoSettings) {
    const SlowRun run = drawn(7, {every(1), every(1)});
    int together = 0;

    for (std::size_t step = 1; step <= steps; ++step) {
        int slow = 0;
        for (int rank = 0; rank < 4; ++rank)
            slow += find_slowness(run, rank, step) == device::SlowFactors{} ? 0 : 1;
        ASSERT_TRUE(slow == 1 || slow == 2) << step;
        together += slow == 1 ? 1 : 0;
    }

    EXPECT_NEAR(together, 100, 5 * 8.7);  // one step in four
}

TEST(SlowRanks, MultiplyTheFactorsOfATraceWithOthers) {
    const validation::ScratchFolder folder;
    const std::string file =
        folder.write("slow.csv", "step,rank,factor,on\n3,1,4,all\n5,1,1,\n5,0,2,products\n");
    const SlowRun run = run_of(
        {{.choice = config::SlowChoice::trace, .trace = file}, {.rank = 1, .factor = 2, .first_step = 4}});

    EXPECT_EQ(find_slowness(run, 1, 2), device::SlowFactors{});
    EXPECT_EQ(find_slowness(run, 1, 3), device::SlowFactors{.all = 4});
    EXPECT_EQ(find_slowness(run, 1, 4), device::SlowFactors{.all = 8});
    EXPECT_EQ(find_slowness(run, 1, 5), device::SlowFactors{.all = 2});
    EXPECT_EQ(find_slowness(run, 0, 99), device::SlowFactors{.matmuls = 2});
    EXPECT_EQ(changes_to(run, 9), (std::vector<std::size_t>{3, 4, 5}));
}

TEST(SlowRanks, AreDescribedInWords) {
    EXPECT_EQ(describe(two_ranks),
              "rank 1 takes 4 times as long in steps 3 to 5; rank 0 takes 1.5 times as long; rank 1 takes 2 "
              "times as long from step 5 on");
    EXPECT_EQ(describe({{.rank = 0, .factor = 2, .first_step = 3, .last_step = 3}}),
              "rank 0 takes 2 times as long in step 3");
    EXPECT_EQ(describe({{.rank = 0, .factor = 2, .first_step = 3, .kernels = config::SlowKernels::matmuls}}),
              "matmuls of rank 0 take 2 times as long from step 3 on");
    EXPECT_EQ(describe({{.factor = 4, .last_step = 9, .choice = config::SlowChoice::turn},
                        {.factor = 4, .choice = config::SlowChoice::turn, .every = 1}}),
              "each rank in turn (an epoch each) takes 4 times as long in steps 1 to 9; each rank in turn (1 "
              "step each) takes 4 times as long");
    EXPECT_EQ(describe({{.factor = 2,
                         .choice = config::SlowChoice::random,
                         .kernels = config::SlowKernels::matmuls,
                         .every = 5,
                         .highest_factor = 4},
                        {.choice = config::SlowChoice::trace, .trace = "slow.csv"}}),
              "matmuls of a random rank, redrawn every 5 steps, take 2 to 4 times as long; ranks are slowed as "
              "slow.csv says");
}

TEST(SlowRanks, AreRejectedIfTheirRankOrStepDoesNotExist) {
    const auto complaint = [](const std::vector<config::SlowRank>& slow, int ranks, std::size_t steps) {
        return catch_message<ConfigError>([&] { read_slow_run(slow, {.ranks = ranks, .steps = steps}); });
    };

    EXPECT_EQ(complaint(two_ranks, 2, 5), "(no error)");
    EXPECT_EQ(complaint(two_ranks, 1, 5),
              "--slow names rank 1, but the job has ranks 0 to 0; name one of these");
    EXPECT_EQ(complaint(two_ranks, 2, 4),
              "--slow rank=1 begins in step 5, but the run has only 4 steps; name an earlier step");
    EXPECT_EQ(complaint({{.factor = 2, .first_step = 5, .choice = config::SlowChoice::turn}}, 2, 4),
              "--slow rank=turn begins in step 5, but the run has only 4 steps; name an earlier step");
    EXPECT_EQ(complaint({{.factor = 2, .first_step = 5, .choice = config::SlowChoice::random}}, 2, 4),
              "--slow rank=random begins in step 5, but the run has only 4 steps; name an earlier step");
}

TEST(SlowRanks, AreRejectedIfTheirTraceIsUnreadableOrDoesNotFit) {
    const validation::ScratchFolder folder;
    const std::string file = folder.write("slow.csv", "step,rank,factor\n5,1,4\n");
    const auto complaint = [&](const std::string& trace, int ranks, std::size_t steps) {
        return catch_message<ConfigError>([&] {
            read_slow_run({{.choice = config::SlowChoice::trace, .trace = trace}},
                          {.ranks = ranks, .steps = steps});
        });
    };

    EXPECT_EQ(complaint(file, 2, 5), "(no error)");
    EXPECT_EQ(complaint(file, 1, 5),
              file + ", line 2 names rank 1, but the job has ranks 0 to 0; name one of these");
    EXPECT_EQ(complaint(file, 2, 4),
              "--slow trace=" + file + " begins in step 5, but the run has only 4 steps; name an earlier step");
    EXPECT_EQ(complaint("/none.csv", 2, 4),
              "--slow trace /none.csv cannot be read: No such file or directory; check its name");
}

}  // namespace
}  // namespace trireme::setup
