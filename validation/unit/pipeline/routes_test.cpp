#include "pipeline/routes.hpp"

#include <gtest/gtest.h>

namespace trireme::pipeline {
namespace {

// Two stages, held by the ranks `first` and `second`. The groups have only the job's ranks from 3 on, so rank 0
// of a group is rank 3 of the job.
class TwoTeams {
public:
    TwoTeams(std::vector<int> first, std::vector<int> second, bool are_rows_cut)
        : teams_{{std::move(first), {0}}, {std::move(second), {1}}}, are_rows_cut_(are_rows_cut) {}

    Routes routes(int rank) {
        return Routes({.rank = rank,
                       .teams = teams_,
                       .shape = shape_,
                       .is_sequence_parallel = are_rows_cut_,
                       .activations = *group_,
                       .gradients = *group_,
                       .group_ranks = ranks_});
    }
    // Describes how five rows travel: "2: 0-2; 3: 2-4" lists the peers in the group, each with its range of own
    // rows.
    std::string legs(int rank, const schedule::Instruction& message) {
        std::string text;
        for (const RankMessage& rank_message : routes(rank).list_rank_messages(message, 5)) {
            text += cat(text.empty() ? "" : "; ", rank_message.peer, ": ", rank_message.own_rows.begin, "-",
                        rank_message.own_rows.end());
        }
        return text;
    }

private:
    std::vector<layout::Team> teams_;
    bool are_rows_cut_;
    schedule::PipelineShape shape_ = schedule::make_grid_shape(2, 1, 1, 1);
    std::vector<int> ranks_{3, 4, 5, 6, 7};
    std::unique_ptr<comm::Communicator> group_ = comm::make_single_rank_group("group");
};

constexpr schedule::Instruction send{schedule::Op::send_forward, 0, 0};
constexpr schedule::Instruction receive{schedule::Op::receive_forward, 1, 0};
constexpr schedule::Instruction send_back{schedule::Op::send_backward, 1, 0};

TEST(Routes, CarryAllRowsToEachRankOnce) {
    TwoTeams teams({3, 4}, {5, 6, 7}, false);

    EXPECT_EQ(teams.legs(3, send), "2: 0-5; 4: 0-5");
    EXPECT_EQ(teams.legs(4, send), "3: 0-5");
    EXPECT_EQ(teams.legs(5, receive), "0: 0-5");
    EXPECT_EQ(teams.legs(6, receive), "1: 0-5");
    EXPECT_EQ(teams.legs(7, receive), "0: 0-5");
}

TEST(Routes, AreEmptyForASenderWithoutReceiver) {
    TwoTeams teams({3, 4}, {5, 6, 7}, false);

    EXPECT_EQ(teams.legs(5, send_back), "0: 0-5");
    EXPECT_EQ(teams.legs(6, send_back), "1: 0-5");
    EXPECT_EQ(teams.legs(7, send_back), "");
}

// Five rows are cut into 0-3 and 3-5 on two ranks, and into 0-2, 2-4 and 4-5 on three.
TEST(Routes, CarryEachRangeOfCutRowsToItsOwner) {
    TwoTeams teams({3, 4}, {5, 6, 7}, true);

    EXPECT_EQ(teams.legs(3, send), "2: 0-2; 3: 2-3");
    EXPECT_EQ(teams.legs(4, send), "3: 0-1; 4: 1-2");
    EXPECT_EQ(teams.legs(6, receive), "0: 0-1; 1: 1-2");
}

TEST(Routes, NameTheTeamAtTheOtherEnd) {
    TwoTeams teams({3}, {5}, false);

    EXPECT_EQ(teams.routes(3).find_other_team(send), 1);
    EXPECT_EQ(teams.routes(5).find_other_team(receive), 0);
    EXPECT_EQ(teams.routes(5).find_other_team(send_back), 0);
    EXPECT_EQ(teams.routes(3).find_other_team({schedule::Op::receive_backward, 0, 0}), 1);
}

}  // namespace
}  // namespace trireme::pipeline
