// The check that all ranks were started with the same options, files and version.
#include <gtest/gtest.h>
#include <mpi.h>

#include "comm/mpi/mpi_communicator.hpp"
#include "error_message.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/agreement.hpp"

namespace trireme::comm {
namespace {

using validation::catch_message;

class ComparedFacts : public ::testing::Test {
protected:
    std::string outcome(const std::vector<CommonSetting>& facts) {
        return catch_message<ConfigError>([&] { require_same(group_, facts); });
    }

    int rank() const { return group_.rank(); }
    int last() const { return group_.size() - 1; }
    bool is_last() const { return rank() == last(); }

    std::string all_but_last() const {
        std::vector<int> ranks;
        for (int r = 0; r < last(); ++r) ranks.push_back(r);
        return cat(last() == 1 ? "rank " : "ranks ", format_ranges(ranks));
    }

    const std::string advice = "; start every rank with the same command line, files and version of trireme";

private:
    MpiCommunicator group_{MPI_COMM_WORLD, "test", {.stall_seconds = 20}};
};

TEST_F(ComparedFacts, AreAcceptedIfAllRanksAgree) {
    EXPECT_EQ(outcome({{"--seed", "1"}, {"--lr", ""}}), "(no error)");
    EXPECT_EQ(outcome({}), "(no error)");
}

TEST_F(ComparedFacts, AreReportedWithTheirRanksIfTheyDiffer) {
    const std::string seed = is_last() ? "7" : "1";

    EXPECT_EQ(
        outcome({{"--batch", "8"}, {"--seed", seed}, {"--lr", seed}}),
        cat("the ranks of this job disagree on --seed: 1 on ", all_but_last(), ", 7 on rank ", last(), advice));
}

TEST_F(ComparedFacts, AreReportedIfUnsetOnSomeRanks) {
    EXPECT_EQ(outcome({{"--width", is_last() ? "" : "16"}}),
              cat("the ranks of this job disagree on --width: 16 on ", all_but_last(), ", not set on rank ",
                  last(), advice));
}

TEST_F(ComparedFacts, AreReportedIfMissingOnSomeRanks) {
    std::vector<CommonSetting> facts{{"--batch", "8"}, {"--seed", "1"}};
    if (is_last()) facts.pop_back();

    EXPECT_EQ(outcome(facts), cat("the ranks of this job disagree on --seed: 1 on ", all_but_last(),
                                  ", not set on rank ", last(), advice));
}

TEST_F(ComparedFacts, AreAbbreviatedIfManyRanksDiffer) {
    if (last() != 7) GTEST_SKIP() << "needs 8 ranks";

    EXPECT_EQ(
        outcome({{"--seed", cat(rank())}}),
        cat("the ranks of this job disagree on --seed: 0 on rank 0, 1 on rank 1, 2 on rank 2, 3 on rank 3, "
            "and more",
            advice));
}

}  // namespace
}  // namespace trireme::comm
