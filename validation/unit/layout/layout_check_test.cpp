#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/layout/layout.hpp"

namespace trireme::layout {
namespace {

// Two stages: the first has two replicas, one with uneven shares; the second has one replica. Rank 5 is idle.
Layout sound_layout() {
    return {10, {{{0, 5}, {{{0, 1}, {5, 3}}, {{2}, {1}}}}, {{5, 5}, {{{3, 4}, {1, 1}}}}}, {5}};
}

// Returns what check_layout() says of the sound layout after `change`, with six ranks.
template <class Change>
std::string refusal(Change change) {
    Layout layout = sound_layout();
    change(layout);
    return validation::catch_message<ConfigError>([&] { check_layout(layout, 6, 10, "layout.json"); });
}

TEST(LayoutCheck, AcceptsASoundLayout) { EXPECT_NO_THROW(check_layout(sound_layout(), 6, 10, "layout.json")); }

TEST(LayoutCheck, AcceptsATeamThatHoldsTwoStages) {
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].replicas[0] = {{0, 1}, {1, 1}};
                  layout.idle = {3, 4, 5};
              }),
              "(no error)");
}

TEST(LayoutCheck, RejectsALayoutForADifferentModel) {
    EXPECT_EQ(
        refusal([](Layout& layout) { layout.layers = 12; }),
        "layout.json is for a model of 12 layers, but this model has 10 (each half of a block is one layer); "
        "use a layout for this model");
}

TEST(LayoutCheck, RejectsALayoutWithoutStages) {
    EXPECT_EQ(refusal([](Layout& layout) { layout.stages.clear(); }),
              "layout.json has no stage; name at least one");
}

TEST(LayoutCheck, RejectsMissingLayers) {
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[0].layers = {1, 4};
              }),
              "no stage of layout.json holds layer 0; let stage 0 begin at layer 0");
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].layers = {7, 3};
              }),
              "no stage of layout.json holds layers 5-6; let stage 1 begin at layer 5");
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].layers = {5, 4};
              }),
              "no stage of layout.json holds layer 9; let stage 1 end with layer 9");
}

TEST(LayoutCheck, RejectsLayersThatAreHeldTwiceOrDoNotExist) {
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].layers = {3, 7};
              }),
              "stage 1 of layout.json begins at layer 3, but stage 0 ends with layer 4; let stage 1 begin at "
              "layer 5");
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].layers = {5, 7};
              }),
              "stage 1 of layout.json ends with layer 11, but the last layer of the model is 9; let the stage "
              "end with layer 9");
}

TEST(LayoutCheck, RejectsAStageWithoutLayersOrReplicas) {
    EXPECT_EQ(refusal([](Layout& layout) { layout.stages[1].layers.count = 0; }),
              "stage 1 of layout.json has no layer; give it at least one, or remove the stage");
    EXPECT_EQ(refusal([](Layout& layout) { layout.stages[1].replicas.clear(); }),
              "stage 1 of layout.json has no replica; give it at least one, with its ranks");
}

TEST(LayoutCheck, RejectsAReplicaWithoutRanks) {
    EXPECT_EQ(refusal([](Layout& layout) { layout.stages[0].replicas[1] = {}; }),
              "replica 1 of stage 0 of layout.json has no rank; give it at least one, or remove the replica");
}

TEST(LayoutCheck, RejectsInvalidSharesAndTurns) {
    EXPECT_EQ(refusal([](Layout& layout) { layout.stages[0].replicas[0].turns = 0; }),
              "replica 0 of stage 0 of layout.json has 0 turns; give it at least 1, or remove the replica");
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[0].replicas[0].shares = {5, 2, 1};
              }),
              "replica 0 of stage 0 of layout.json has 2 ranks but 3 shares; give each of its ranks one share");
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].replicas[0].shares = {1, 0};
              }),
              "replica 0 of stage 1 of layout.json gives rank 4 a share of 0; make the share at least 1, or "
              "remove the rank");
}

TEST(LayoutCheck, RejectsARankInTwoReplicas) {
    EXPECT_EQ(refusal([](Layout& layout) { layout.stages[0].replicas[1].ranks = {1}; }),
              "rank 1 is in replicas 0 and 1 of stage 0 of layout.json; name it in one of them");
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[0].replicas[0].ranks = {1, 1};
              }),
              "rank 1 is twice in replica 0 of stage 0 of layout.json; name it once");
}

TEST(LayoutCheck, RejectsARankInTwoDifferentTeams) {
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].replicas[0].ranks = {1, 3};
              }),
              "rank 1 is in two stages of layout.json: with ranks 0,1 in stage 0, and with ranks 1,3 in stage "
              "1; name it "
              "in one stage, or give both stages the same ranks in the same order");
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].replicas[0].ranks = {1, 0};
              }),
              "rank 1 is in two stages of layout.json: with ranks 0,1 in stage 0, and with ranks 1,0 in stage "
              "1; name it "
              "in one stage, or give both stages the same ranks in the same order");
}

TEST(LayoutCheck, RejectsARankThatIsIdleAndWorking) {
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.idle = {5, 2};
              }),
              "rank 2 is both idle and in replica 1 of stage 0 of layout.json; name it only once");
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.idle = {5, 5};
              }),
              "layout.json lists rank 5 as idle twice; list it once");
}

TEST(LayoutCheck, RejectsRanksThatAreNotInTheLayout) {
    EXPECT_EQ(refusal([](Layout& layout) { layout.idle.clear(); }),
              "layout.json does not name rank 5 of 6; add every rank to a replica or to \"idle\", or start "
              "only 5 ranks");
    EXPECT_EQ(validation::catch_message<ConfigError>([] {
                  check_layout(make_grid_layout({.pipe = 2, .data = 3}, {5, 5}), 8, 10, "the grid");
              }),
              "the grid does not name ranks 6,7 of 8; add every rank to a replica or to \"idle\", or start "
              "only 6 ranks");
}

TEST(LayoutCheck, RejectsRanksThatDoNotExist) {
    EXPECT_EQ(refusal([](Layout& layout) {
                  layout.stages[1].replicas[0].ranks = {3, 9};
              }),
              "layout.json names rank 9, but the job has ranks 0 to 5; name only these ranks, or start more");
    EXPECT_EQ(refusal([](Layout& layout) { layout.idle = {-1}; }),
              "layout.json names rank -1, but the job has ranks 0 to 5; name only these ranks, or start more");
}

}  // namespace
}  // namespace trireme::layout
