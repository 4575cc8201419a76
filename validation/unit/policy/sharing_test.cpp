#include "trireme/policy/sharing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "trireme/base/error.hpp"
#include "trireme/base/random.hpp"

namespace trireme::policy {
namespace {

using layout::Migration;
using plan::RankTimes;
using Numbers = std::vector<double>;

constexpr double near = 1e-9;

double sum(const auto& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

double mean_fraction(const Migration& migration) {
    return sum(migration.fractions) / layout::block_matmul_count;
}

std::size_t place(int rank) { return static_cast<std::size_t>(rank); }

// Returns the fraction of its own matmuls that a rank skips or offloads.
double not_computed(const Sharing& sharing, std::size_t rank) {
    double offloaded = 0;
    for (const Migration& each : sharing.migrations)
        if (place(each.from) == rank) offloaded += mean_fraction(each);
    return std::max(offloaded, sharing.skipped.empty() ? 0 : sharing.skipped[rank]);
}

// `slowness` applies to all matmuls that a rank computes; `whole` counts multiplications of its own matmuls.
struct Team {
    Numbers slowness;
    double others = 0;
    Numbers whole = Numbers(slowness.size(), 1);

    std::size_t size() const { return slowness.size(); }

    // Returns the measurements per rank. A healthy rank needs a second per multiplication.
    std::vector<RankTimes> times(const Sharing& sharing = {}) const {
        Numbers done = whole;
        for (std::size_t r = 0; r < size(); ++r) done[r] *= 1 - not_computed(sharing, r);
        for (const Migration& each : sharing.migrations)
            done[place(each.to)] += mean_fraction(each) * whole[place(each.from)];
        std::vector<RankTimes> all;
        for (std::size_t r = 0; r < size(); ++r)
            all.push_back({.matmuls = slowness[r] * done[r],
                           .matmul_flops = done[r],
                           .full_flops = whole[r],
                           .others = others});
        return all;
    }

    Sharing best(double limit = 0) const {
        return find_best_offload(times(), slowness, {.policy = "test", .max_skipped_fraction = limit});
    }
    // Returns the seconds by the measurements under `sharing`, independently of any prediction.
    double measured_seconds(const Sharing& sharing) const {
        double most = 0;
        for (const RankTimes& each : times(sharing)) most = std::max(most, each.busy());
        return most;
    }
    double min_seconds() const {
        double rates = 0;
        for (const double factor : slowness) rates += 1 / factor;
        return sum(whole) / rates + others;
    }
};

Team with_one_slow(std::size_t size, double factor, double others = 0) {
    Team team{.slowness = Numbers(size, 1), .others = others};
    team.slowness[size / 2] = factor;
    return team;
}

// Return the multiplications that each rank offloads and those that it takes over.
Numbers offloaded_by(const Team& team, const Sharing& sharing) {
    Numbers offloaded(team.size(), 0);
    for (const Migration& each : sharing.migrations)
        offloaded[place(each.from)] += mean_fraction(each) * team.whole[place(each.from)];
    return offloaded;
}

Numbers taken_by(const Team& team, const Sharing& sharing) {
    Numbers taken(team.size(), 0);
    for (const Migration& each : sharing.migrations)
        taken[place(each.to)] += mean_fraction(each) * team.whole[place(each.from)];
    return taken;
}

// Returns the fraction of its own matmuls that no rank computes, per rank.
Numbers skipped_by(const Team& team, const Sharing& sharing) {
    Numbers skipped;
    for (std::size_t r = 0; r < team.size(); ++r)
        skipped.push_back(not_computed(sharing, r) - offloaded_by(team, sharing)[r] / team.whole[r]);
    return skipped;
}

void expect_near(const Numbers& numbers, const Numbers& expected) {
    ASSERT_EQ(numbers.size(), expected.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) EXPECT_NEAR(numbers[i], expected[i], 1e-6) << "rank " << i;
}

void expect_seconds(const Team& team, const Sharing& sharing, double seconds) {
    EXPECT_NEAR(predict_team_seconds(team.times(), sharing), seconds, near * seconds);
    EXPECT_NEAR(team.measured_seconds(sharing), seconds, near * seconds);
}

// Returns teams with one or several slow ranks, with and without other work, with even and uneven shares.
std::vector<Team> every_team() {
    std::vector<Team> all;
    for (const double others : {0.0, 0.25}) {
        for (const std::size_t size : {2, 4, 8}) {
            for (const double factor : {2.0, 4.0, 8.0}) all.push_back(with_one_slow(size, factor, others));
        }
        all.push_back({.slowness = {8, 6, 4, 2, 1, 1, 1, 1}, .others = others});
        all.push_back({.slowness = {1, 3, 1, 3, 1, 3, 1, 1}, .others = others});
        all.push_back({.slowness = {1, 4, 1, 1}, .others = others, .whole = {1, 1.5, 1, 0.5}});
        all.push_back({.slowness = {5, 3, 1, 1, 1, 1}, .others = others, .whole = {1, 2, 2, 2, 1.9, 1.8}});
    }
    return all;
}

template <class Use>
void for_each_team(Use&& use) {
    const std::vector<Team> teams = every_team();
    for (std::size_t i = 0; i < teams.size(); ++i) {
        SCOPED_TRACE(cat("team ", i, ": slowness ", testing::PrintToString(teams[i].slowness)));
        use(teams[i]);
    }
}

// Computed by hand: rank 0 takes 4 s for its matmuls and 1 s otherwise; rank 1 takes 3 s and 2 s.
TEST(PredictedTeamTime, IsThatOfTheSlowestRank) {
    const std::vector<RankTimes> times{{.matmuls = 4, .matmul_flops = 100, .full_flops = 100, .others = 1},
                                       {.matmuls = 3, .matmul_flops = 100, .full_flops = 100, .others = 2}};
    const auto seconds = [&](int from, double offloaded, const Numbers& skipped) {
        Migration migration{.from = from, .to = 1 - from};
        migration.fractions.fill(offloaded);
        return predict_team_seconds(times, {{migration}, skipped});
    };

    EXPECT_DOUBLE_EQ(predict_team_seconds(times, {}), 5);
    EXPECT_DOUBLE_EQ(seconds(0, 0, {0.5, 0.5}), 3.5);
    EXPECT_DOUBLE_EQ(seconds(0, 0.25, {}), 5.75);       // 3 + 1 and 3.75 + 2
    EXPECT_DOUBLE_EQ(seconds(1, 0.5, {}), 7);           // 6 + 1 and 1.5 + 2
    EXPECT_DOUBLE_EQ(seconds(1, 0.5, {0.75, 0}), 4);    // 3 + 1 and 1.5 + 2
    EXPECT_DOUBLE_EQ(seconds(0, 0.5, {0.75, 1}), 3.5);  // 1 + 1 and 1.5 + 2: no rank computes a quarter
}

// The first matmul takes half of the time of a rank's matmuls, the second an eighth.
TEST(PredictedTeamTime, WeighsEachMatmulByItsWork) {
    const std::vector<RankTimes> times{{.matmuls = 4, .matmul_flops = 100, .full_flops = 100},
                                       {.matmuls = 2, .matmul_flops = 100, .full_flops = 100}};
    const OffloadCosts costs{.work = {0.5, 0.125, 0.25, 0.125}};
    const auto seconds = [&](const layout::MatmulFractions& parts) {
        return predict_team_seconds(times, {{{.from = 0, .to = 1, .fractions = parts}}, {}}, costs);
    };

    EXPECT_DOUBLE_EQ(seconds({1, 0, 0, 0}), 3);       // 2 and 2 + 1
    EXPECT_DOUBLE_EQ(seconds({0, 1, 0, 0}), 3.5);     // 3.5 and 2 + 0.25
    EXPECT_DOUBLE_EQ(seconds({1, 0, 0.5, 0}), 3.25);  // 1.5 and 2 + 1.25
}

// While work is skipped or offloaded, ranks compute more or less than their own matmuls.
TEST(PredictedTeamTime, IsIndependentOfTheSharingDuringMeasurement) {
    for_each_team([](const Team& team) {
        const Sharing sharing = team.best();
        const double whole = predict_team_seconds(team.times(), {});
        EXPECT_NEAR(predict_team_seconds(team.times(sharing), {}), whole, near * whole);
    });
}

// A team of p ranks takes p / (p - 1 + 1/x) if one takes x times as long per matmul (FlexTP).
TEST(BestOffload, ReachesTheLowerBoundForOneSlowRank) {
    for (const double others : {0.0, 0.25, 3.0}) {
        for (const std::size_t size : {2, 4, 8}) {
            for (const double factor : {2.0, 4.0, 8.0}) {
                SCOPED_TRACE(testing::Message() << factor << " of " << size << ", others " << others);
                const Team team = with_one_slow(size, factor, others);
                const auto p = static_cast<double>(size);
                expect_seconds(team, team.best(), p / (p - 1 + 1 / factor) + others);
            }
        }
    }
}

TEST(BestOffload, ReachesTheLowerBoundForFourSlowRanksOfEight) {
    const Team team{.slowness = {8, 6, 4, 2, 1, 1, 1, 1}};
    expect_seconds(team, team.best(), 8 / (1.0 / 8 + 1.0 / 6 + 1.0 / 4 + 1.0 / 2 + 4));
    EXPECT_NEAR(predict_team_seconds(team.times(), team.best()), 1.587, 0.0005);
}

// The least slow of several slow ranks helps if that shortens the step.
TEST(BestOffload, UsesSlightlySlowRanksAsHelpers) {
    for (const Numbers& slowness : {Numbers{8, 1.2}, Numbers{8, 1.2, 1}, Numbers{4, 1.2, 1, 1}}) {
        const Team team{.slowness = slowness, .others = 0.25};

        EXPECT_NEAR(team.measured_seconds(team.best()), team.min_seconds(), 1e-6);
    }
}

TEST(BestOffload, BringsAllRanksToTheSameTime) {
    for_each_team([](const Team& team) {
        const Sharing sharing = team.best();

        expect_seconds(team, sharing, team.min_seconds());
        for (const RankTimes& each : team.times(sharing)) EXPECT_NEAR(each.busy(), team.min_seconds(), 1e-5);
    });
}

TEST(BestOffload, SkipsNothingIfTheLimitIsZero) {
    for_each_team([](const Team& team) { EXPECT_EQ(team.best().skipped, Numbers(team.size(), 0)); });
}

TEST(BestOffload, OffloadsExactlyWhatBalancesTheRanks) {
    for_each_team([](const Team& team) {
        const Sharing sharing = team.best();
        const Numbers offloaded = offloaded_by(team, sharing), taken = taken_by(team, sharing);
        const double goal = team.min_seconds() - team.others;

        for (std::size_t r = 0; r < team.size(); ++r) {
            const double change = goal / team.slowness[r] - team.whole[r];  // beyond its own work
            EXPECT_NEAR(taken[r] - offloaded[r], change, 1e-5) << "rank " << r;
        }
    });
}

TEST(BestOffload, UsesFewMigrationsAndHelpsNoHelper) {
    for_each_team([](const Team& team) {
        const Sharing sharing = team.best();
        std::set<int> owners, helpers;
        for (const Migration& each : sharing.migrations) {
            owners.insert(each.from);
            helpers.insert(each.to);
            EXPECT_GT(team.slowness[place(each.from)], 1);
            EXPECT_EQ(team.slowness[place(each.to)], 1);
            for (const double part : each.fractions) EXPECT_GT(part, 0);
        }

        EXPECT_FALSE(owners.empty());
        for (const int owner : owners) EXPECT_FALSE(helpers.contains(owner)) << "rank " << owner;
        EXPECT_LE(sharing.migrations.size(), owners.size() + helpers.size() - 1);
    });
}

TEST(BestOffload, IsEmptyForHealthyRanks) {
    for (const double others : {0.0, 0.5}) {
        const Team even{.slowness = Numbers(4, 1), .others = others};
        const Team uneven{.slowness = Numbers(3, 1), .others = others, .whole = {3, 1, 2}};

        EXPECT_EQ(even.best(), (Sharing{{}, Numbers(4, 0)}));
        EXPECT_EQ(uneven.best(), (Sharing{{}, Numbers(3, 0)}));
        EXPECT_EQ(even.best(0.5), (Sharing{{}, Numbers(4, 0)}));
    }
}

TEST(BestOffload, IsEmptyIfTheSlowRankDoesNotFinishLast) {
    const Team team{.slowness = {2, 1, 1}, .whole = {0.5, 1, 1}};

    EXPECT_EQ(team.best(), (Sharing{{}, Numbers(3, 0)}));
}

// Measurements under a sharing include the offloaded work on helpers, and not on the slow ranks.
TEST(BestOffload, IsStableWhenMeasuredUnderItself) {
    for_each_team([](const Team& team) {
        for (const double limit : {0.0, 0.2}) {
            const Sharing first = team.best(limit);
            Sharing again = first;
            for (int period = 0; period < 3; ++period) {
                again = find_best_offload(team.times(again), team.slowness,
                                          {.policy = "test", .max_skipped_fraction = limit});

                expect_near(offloaded_by(team, again), offloaded_by(team, first));
                expect_near(taken_by(team, again), taken_by(team, first));
                expect_near(skipped_by(team, again), skipped_by(team, first));
                EXPECT_EQ(again.migrations.size(), first.migrations.size());
            }
        }
    });
}

// A rank keeps some of each matmul, however slow it is.
TEST(BestOffload, NeverOffloadsACompleteMatmul) {
    for (const double factor : {60.0, 1000.0, 1e9}) {
        for (const std::size_t size : {2, 8, 33}) {
            const Team team = with_one_slow(size, factor);
            const Sharing sharing = team.best();
            layout::MatmulFractions offloaded{};
            for (const Migration& each : sharing.migrations) {
                for (std::size_t p = 0; p < layout::block_matmul_count; ++p) offloaded[p] += each.fractions[p];
            }

            for (const double part : offloaded) {
                EXPECT_GT(part, 0.5);
                EXPECT_LT(part, 0.99);
            }
        }
    }
}

// If enough may be skipped, a slow rank reaches the time of the others and needs no helper.
TEST(BestOffload, SkipsAllowedWorkBeforeUsingHelpers) {
    const Team team = with_one_slow(4, 4, 0.25);
    const Sharing sharing = team.best(0.9);

    expect_seconds(team, sharing, 1.25);
    EXPECT_TRUE(sharing.migrations.empty());
    expect_near(skipped_by(team, sharing), {0, 0, 0.75, 0});
}

// Helpers compute what may not be skipped: in time T the slow rank computes a part T/x of its matmuls, and the
// others compute (p - 1)(T - 1).
TEST(BestOffload, OffloadsWorkThatMayNotBeSkipped) {
    for (const double limit : {0.1, 0.25, 0.5}) {
        for (const double factor : {4.0, 8.0}) {
            for (const std::size_t size : {2, 4, 8}) {
                const Team team = with_one_slow(size, factor);
                const Sharing sharing = team.best(limit);
                const auto p = static_cast<double>(size);
                const double seconds = (p - limit) / (p - 1 + 1 / factor);

                expect_seconds(team, sharing, seconds);
                EXPECT_NEAR(skipped_by(team, sharing)[size / 2], limit, 1e-6);
                EXPECT_NEAR(offloaded_by(team, sharing)[size / 2], 1 - limit - seconds / factor, 1e-6);
            }
        }
    }
}

TEST(BestOffload, BalancesSeveralSlowRanksWithinTheSkipLimit) {
    const Team team{.slowness = {8, 6, 4, 2, 1, 1, 1, 1}};
    for (const double limit : {0.125, 0.25, 0.375, 0.5}) {
        const Sharing sharing = team.best(limit);
        const double seconds = predict_team_seconds(team.times(), sharing);
        const Numbers skipped = skipped_by(team, sharing);

        EXPECT_NEAR(team.measured_seconds(sharing), seconds, near);
        for (std::size_t r = 0; r < 4; ++r) {
            const double own = 1 - not_computed(sharing, r);
            EXPECT_LE(skipped[r], limit + 1e-6);
            EXPECT_NEAR(own * team.slowness[r], seconds, 1e-4) << "rank " << r << ", limit " << limit;
        }
        for (std::size_t r = 4; r < 8; ++r) {
            EXPECT_EQ(skipped[r], 0);
            EXPECT_NEAR(1 + taken_by(team, sharing)[r], seconds, 1e-4) << "rank " << r << ", limit " << limit;
        }
    }
    // All slow ranks skip as much as they may: the work is 8 minus four times the limit, at the same rates.
    expect_seconds(team, team.best(0.25), 7 / (1.0 / 8 + 1.0 / 6 + 1.0 / 4 + 1.0 / 2 + 4));
}

// All ranks of the team are slow, compared with those of other teams.
TEST(BestOffload, SkipsNothingIfAllRanksAreEquallySlow) {
    EXPECT_EQ((Team{.slowness = {4, 4}, .others = 0.1}.best(0.9)), (Sharing{.skipped = {0, 0}}));
}

TEST(BestOffload, CountsTheRoundsOfTreeAndDirectMessages) {
    const std::vector<Migration> help{{.from = 0, .to = 1, .fractions = {0.1, 0.1, 0.1, 0.1}}};
    OffloadCosts costs{.round_seconds = {1, 0, 1, 0}};

    EXPECT_DOUBLE_EQ(predict_offload_seconds(help, 8, costs), 6);
    costs.spread = layout::Spread::direct;
    EXPECT_DOUBLE_EQ(predict_offload_seconds(help, 8, costs), 14);
}

TEST(BestOffload, IsEmptyIfHelpingTakesLongerThanItSaves) {
    const Team team = with_one_slow(4, 4);
    const OffloadCosts costs{.round_seconds = {5, 5, 5, 5}, .weight_seconds = {5, 5, 5, 5}};
    const Sharing sharing = find_best_offload(team.times(), team.slowness, {.policy = "test", .costs = costs});

    EXPECT_EQ(sharing, (Sharing{{}, Numbers(4, 0)}));
}

TEST(BestOffload, TakesBetweenTheLowerBoundAndTheTimeWithoutIt) {
    for (std::uint64_t trial = 0; trial < 300; ++trial) {
        SCOPED_TRACE(testing::Message() << "trial " << trial);
        const RandomKey key = RandomKey{9}.then(trial);
        Team team{.slowness = Numbers(2 + trial % 7, 1), .others = trial % 2 == 0 ? 0 : 0.3};
        for (std::size_t r = 1; r < team.size(); ++r) {
            const RandomBlock drawn = random_block(key, r);
            if (drawn[0] % 3 == 0) team.slowness[r] = 1 + 8 * to_unit_interval(drawn[1]);
            team.whole[r] = 0.5 + to_unit_interval(drawn[2]);
        }
        const Sharing sharing = team.best();
        const double seconds = predict_team_seconds(team.times(), sharing);
        EXPECT_LE(seconds, predict_team_seconds(team.times(), {}) * (1 + near));
        EXPECT_GE(seconds, team.min_seconds() * (1 - near));
        EXPECT_NEAR(team.measured_seconds(sharing), seconds, near * seconds);
    }
}

}  // namespace
}  // namespace trireme::policy
