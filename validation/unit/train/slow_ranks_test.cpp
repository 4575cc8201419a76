#include "train/slow_ranks.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

using validation::message_of;

const std::vector<SlowRank> two_ranks{{.rank = 1, .factor = 4, .first_step = 3, .last_step = 5},
                                      {.rank = 0, .factor = 1.5},
                                      {.rank = 1, .factor = 2, .first_step = 5}};

TEST(SlowRanks, AreSlowInTheirStepsEndsIncluded) {
    EXPECT_EQ(slowness_in(two_ranks, 1, 2), 1);
    EXPECT_EQ(slowness_in(two_ranks, 1, 3), 4);
    EXPECT_EQ(slowness_in(two_ranks, 1, 6), 2);
    EXPECT_EQ(slowness_in(two_ranks, 0, 1), 1.5);
    EXPECT_EQ(slowness_in(two_ranks, 2, 4), 1);
    EXPECT_EQ(slowness_in({}, 0, 1), 1);
}

TEST(SlowRanks, MultiplyTheirFactorsWhereStepsOverlap) { EXPECT_EQ(slowness_in(two_ranks, 1, 5), 8); }

TEST(SlowRanks, AreToldInWords) {
    EXPECT_EQ(words_of(two_ranks),
              "rank 1 takes 4 times as long in steps 3 to 5; rank 0 takes 1.5 times as long; rank 1 takes 2 "
              "times as long from step 5 on");
    EXPECT_EQ(words_of({{.rank = 0, .factor = 2, .first_step = 3, .last_step = 3}}),
              "rank 0 takes 2 times as long in step 3");
}

TEST(SlowRanks, MustBeInTheJobAndInTheRun) {
    const auto complaint = [](int ranks, std::size_t steps) {
        return message_of<ConfigError>([&] { check_slow_ranks(two_ranks, ranks, steps); });
    };

    check_slow_ranks(two_ranks, 2, 5);
    EXPECT_EQ(complaint(1, 5), "--slow names rank 1, and the job has ranks 0 to 0; name one of these");
    EXPECT_EQ(complaint(2, 4),
              "--slow of rank 1 begins in step 5, behind the last of 4 steps; name earlier ones");
}

}  // namespace
}  // namespace trireme
