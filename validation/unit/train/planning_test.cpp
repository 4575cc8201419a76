#include "train/planning.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "error_message.hpp"
#include "unit/train/small_plans.hpp"

namespace trireme {
namespace {

using validation::grid;
using validation::layout_file;
using validation::message_of;
using validation::says;
using validation::ScratchFolder;
using validation::small_gpt2;
using validation::unlike_layout;
using validation::write_text;

std::string refusal(const RunConfig& config, int ranks, const ModelConfig& model = small_gpt2()) {
    return message_of<ConfigError>([&] { plan_run(config, model, ranks); });
}

TEST(LayerFacts, CountHalvesOfBlocksAndWhatPeopleCount) {
    const std::vector<LayerFacts> facts = layer_facts(small_gpt2());

    ASSERT_EQ(facts.size(), 7U);
    std::vector<std::size_t> items;
    std::size_t parameters = 0;
    for (const LayerFacts& layer : facts) {
        items.push_back(layer.item);
        parameters += layer.parameters;
    }
    EXPECT_EQ(items, (std::vector<std::size_t>{0, 1, 1, 2, 2, 3, 3}));
    EXPECT_FALSE(facts[0].is_block);
    EXPECT_TRUE(facts[1].is_block && facts[4].is_block);
    EXPECT_FALSE(facts[5].is_block || facts[6].is_block);
    EXPECT_EQ(parameters, parameter_count(small_gpt2()) + 19 * 16);  // a tied table belongs to two layers
}

TEST(RanksFor, AreThoseOfTheGridOrOfTheLayoutFile) {
    const ScratchFolder folder;

    EXPECT_EQ(ranks_for(grid(2, 0, 3)), 6);
    EXPECT_EQ(ranks_for(grid(2, 2, 3)), 12);
    EXPECT_EQ(ranks_for(layout_file(folder, unlike_layout)), 5);
}

TEST(RanksFor, AreNotMoreThanAnyoneHas) {
    EXPECT_EQ(
        message_of<ConfigError>([] { ranks_for(grid(1 << 20, 1 << 20, 2)); }),
        "a process grid of pipe 1048576 x data 1048576 x tensor 2 has more than 1048576 ranks; lower --pipe, "
        "--data or --tensor");
}

TEST(PlanRun, UsesTheRanksThatTheGridLeavesForReplicas) {
    RunConfig config = grid(2, 0, 1);
    config.schedule.microbatches = 3;

    const Plan plan = plan_run(config, small_gpt2(), 6);

    EXPECT_EQ(plan.layout.stages[0].replicas.size(), 3U);
    EXPECT_EQ(plan.micro_batches(), 9);  // three for each replica
}

TEST(PlanRun, CountsTheMicroBatchesOfALayoutFileInAll) {
    const ScratchFolder folder;
    RunConfig config = layout_file(folder, unlike_layout);
    config.schedule.microbatches = 3;

    const Plan plan = plan_run(config, small_gpt2(), 5);

    EXPECT_EQ(plan.micro_batches(), 3);
    EXPECT_EQ(plan.team_of(4), -1);
}

TEST(PlanRun, RefusesAnotherNumberOfRanks) {
    EXPECT_EQ(refusal(grid(2, 2, 2), 6),
              "the process grid needs 8 ranks (pipe 2 x data 2 x tensor 2) but MPI started 6; change --pipe, "
              "--data or --tensor, or the rank count");
    EXPECT_EQ(refusal(grid(2, 0, 2), 6),
              "the process grid needs 4 ranks (pipe 2 x data 1 x tensor 2) but MPI started 6; change --pipe, "
              "--data or --tensor, or the rank count");
    EXPECT_EQ(refusal(grid(3, 0, 1), 2),
              "the process grid needs 3 ranks (pipe 3 x data 1 x tensor 1) but MPI started 2; change --pipe, "
              "--data or --tensor, or the rank count");
}

TEST(PlanRun, RefusesMoreStagesThanThereIsToCut) {
    EXPECT_EQ(refusal(grid(5, 1, 1), 5),
              "--partition uniform cannot cut 4 items (embedding, blocks and head) into 5 stages; use 1 to 4 "
              "stages: change --pipe or --chunks");
}

TEST(PlanRun, RefusesMoreTensorRanksThanHeads) {
    EXPECT_EQ(
        refusal(grid(1, 1, 9), 9),
        "8 heads cannot be shared by 9 ranks; each needs at least one: use --tensor 8 or less, or replicas "
        "of at most 8 ranks");
    const ModelConfig llama = validation::sharable(Family::llama, Task::language);
    EXPECT_EQ(
        refusal(grid(1, 1, 5), 5, llama),
        "4 groups of heads cannot be shared by 5 ranks; each needs at least one: use --tensor 4 or less, or "
        "replicas of at most 4 ranks");
}

TEST(PlanRun, RefusesAGridBesideALayoutFile) {
    const ScratchFolder folder;
    for (const auto& change : std::vector<void (*)(RunConfig&)>{
             [](RunConfig& c) { c.layout.pipe = 2; }, [](RunConfig& c) { c.layout.data = 1; },
             [](RunConfig& c) { c.layout.tensor = 2; }, [](RunConfig& c) { c.schedule.chunks = 2; }}) {
        RunConfig config = layout_file(folder, unlike_layout);
        change(config);

        EXPECT_EQ(refusal(config, 5), cat("--layout ", config.layout.layout,
                                          " says who holds what; leave out --pipe, --data, --tensor and "
                                          "--chunks"));
    }
}

TEST(PlanRun, RefusesALayoutOfAnotherModel) {
    const ScratchFolder folder;
    const RunConfig config = layout_file(folder, unlike_layout);
    ModelConfig larger = small_gpt2();
    larger.layers = 3;

    EXPECT_EQ(
        refusal(config, 5, larger),
        cat(config.layout.layout,
            " is for a model of 7 layers and this one has 9 (halves of blocks count one each); use a layout "
            "made for this model"));
}

TEST(PlanRun, NamesTheNearestSchedule) {
    RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = "interleved";

    const std::string message = refusal(config, 2);

    EXPECT_TRUE(says(message, "there is no schedule 'interleved'; did you mean interleaved?"));
    EXPECT_TRUE(says(message, "gpipe"));
}

TEST(PlanRun, RefusesFilesThatCannotBeRead) {
    RunConfig layout;
    layout.layout.layout = "no/such.json";
    RunConfig schedule = grid(2, 1, 1);
    schedule.schedule.schedule = "no/such.csv";

    EXPECT_EQ(refusal(layout, 2), "--layout no/such.json cannot be read; name a file");
    EXPECT_EQ(message_of<ConfigError>([&] { ranks_for(layout); }),
              "--layout no/such.json cannot be read; name a file");
    EXPECT_EQ(refusal(schedule, 2), "--schedule no/such.csv cannot be read; name a file");
}

TEST(PlanRun, TakesOneWayToRecomputeForAllStagesOrOneForEach) {
    RunConfig config = grid(3, 1, 1);
    config.layout.recompute = {Recompute::full};
    EXPECT_EQ(plan_run(config, small_gpt2(), 3).recompute, std::vector<Recompute>(3, Recompute::full));

    config.layout.recompute = {Recompute::none, Recompute::selective, Recompute::full};
    EXPECT_EQ(plan_run(config, small_gpt2(), 3).recompute, config.layout.recompute);

    config.layout.recompute = {Recompute::none, Recompute::full};
    EXPECT_EQ(
        refusal(config, 3),
        "--recompute names 2 ways, but the layout has 3 stages; name one for all stages, or one for each");
}

TEST(PlanRun, RunsTheProgramsOfAFile) {
    const ScratchFolder folder;
    RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = write_text(folder, "halves.csv", "0F0,0I0,0W0\n1F0,1I0,1W0\n");

    const Plan plan = plan_run(config, small_gpt2(), 2);

    EXPECT_EQ(plan.schedule, config.schedule.schedule);
    EXPECT_EQ(text_of(plan.training.programs[0]), "0RECV_B0 0F0 0SEND_F0 0I0 0W0 REDUCE0 STEP0");
}

TEST(PlanRun, RefusesHalvesOfAPassThatIsDoneAgainInFull) {
    const ScratchFolder folder;
    RunConfig config = grid(2, 1, 1);
    config.schedule.schedule = write_text(folder, "halves.csv", "0F0,0B0\n1F0,1I0,1W0\n");
    config.layout.recompute = {Recompute::full, Recompute::full};

    EXPECT_EQ(refusal(config, 2),
              cat(config.schedule.schedule,
                  " has 1I0, half a backward pass, and stage 1 computes its activations again in full; use "
                  "--recompute selective or none for it"));
    config.layout.recompute = {Recompute::full, Recompute::selective};
    EXPECT_NO_THROW(plan_run(config, small_gpt2(), 2));
}

// One team holds both stages, and has one part of the table that both use.
TEST(PlanRun, RefusesATiedTableThatARankWouldHaveTwoPartsOf) {
    const ScratchFolder folder;
    RunConfig config = layout_file(folder, R"({"layers": 7, "stages": [
        {"layers": [0, 3], "replicas": [{"ranks": [0, 1], "shares": [5, 3]}]},
        {"layers": [3, 7], "replicas": [{"ranks": [0, 1]}]}]})");
    config.schedule.schedule = "looped-bfs";

    EXPECT_EQ(
        refusal(config, 2),
        "rank 0 has the table of tokens in stage 0 by the shares 5,3 and in stage 1 by 1,1, and a tied one "
        "is there once; make these shares equal, or use --tied off");
    EXPECT_NO_THROW(plan_run(config, small_gpt2(false), 2));
}

TEST(PartOfRank, IsItsShareOfTheReplicaThatHoldsTheStage) {
    const ScratchFolder folder;
    const Plan plan = plan_run(layout_file(folder, unlike_layout), small_gpt2(), 5);

    EXPECT_EQ(part_of_rank(plan, 0, 1).rank, 1);
    EXPECT_EQ(part_of_rank(plan, 0, 1).shares, (std::vector<std::size_t>{5, 3}));
    EXPECT_TRUE(part_of_rank(plan, 0, 2).is_whole());
    EXPECT_EQ(message_of<BugError>([&] { part_of_rank(plan, 1, 2); }), "rank 2 does not hold stage 1");
}

// How many ranks hold an element: the least and the most of all elements of a tensor.
std::pair<std::size_t, std::size_t> holders_of(const HeldTensor& tensor) {
    std::size_t least = tensor.slices.size();
    std::size_t most = 0;
    for (std::size_t r = 0; r < tensor.rows; ++r) {
        for (std::size_t c = 0; c < tensor.columns; ++c) {
            const Box one{{r, 1}, {c, 1}};
            std::set<int> ranks;
            for (const Slice& slice : tensor.slices) {
                if (intersection(slice.box, one).is_empty()) continue;
                EXPECT_TRUE(ranks.insert(slice.rank).second) << tensor.name << " twice on rank " << slice.rank;
            }
            least = std::min(least, ranks.size());
            most = std::max(most, ranks.size());
        }
    }
    return {least, most};
}

std::map<std::string, HeldTensor> by_name(const std::vector<HeldTensor>& tensors) {
    std::map<std::string, HeldTensor> named;
    for (const HeldTensor& tensor : tensors) EXPECT_TRUE(named.emplace(tensor.name, tensor).second);
    return named;
}

TEST(HeldTensors, OfAGridAreHeldOnceByEachReplicaOfTheirStages) {
    const Plan plan = plan_run(grid(2, 3, 2), small_gpt2(), 12);

    const auto tensors = by_name(held_tensors(plan, small_gpt2()));

    EXPECT_EQ(tensors.size(), validation::specs_of(small_gpt2()).size());
    for (const auto& [name, tensor] : tensors) {
        std::size_t holders = 3;
        if (name.find("ln_") != std::string::npos) holders = 3 * 2;  // by both tensor ranks
        if (name == "transformer.wte.weight") holders = 3 * 2;       // in the first stage and the last
        EXPECT_EQ(holders_of(tensor), (std::pair{holders, holders})) << name;
    }
    EXPECT_EQ(tensors.at("transformer.wte.weight").last_use, 0U);
    EXPECT_EQ(tensors.at("transformer.h.1.mlp.c_fc.weight").last_use, 4U);
    EXPECT_EQ(tensors.at("transformer.ln_f.weight").last_use, 5U);
}

TEST(HeldTensors, OfALoneRankAreThereOnceAndWhole) {
    const Plan plan = plan_run(grid(1, 1, 1), small_gpt2(), 1);

    for (const HeldTensor& tensor : held_tensors(plan, small_gpt2())) {
        ASSERT_EQ(tensor.slices.size(), 1U) << tensor.name;
        EXPECT_EQ(tensor.slices[0].box, (Box{{0, tensor.rows}, {0, tensor.columns}})) << tensor.name;
    }
}

TEST(HeldTensors, OfUnlikeReplicasAreInTheBoxesThatEachHas) {
    const ScratchFolder folder;
    const Plan plan = plan_run(layout_file(folder, unlike_layout), small_gpt2(), 5);

    const auto tensors = by_name(held_tensors(plan, small_gpt2()));

    // Shares of 5:3 of 8 heads of 2 channels.
    const HeldTensor& fused = tensors.at("transformer.h.0.attn.c_attn.weight");
    ASSERT_EQ(fused.slices.size(), 3U + 3U + 1U);
    EXPECT_EQ(fused.slices[0].box, (Box{{0, 16}, {0, 10}}));
    EXPECT_EQ(fused.slices[5].rank, 1);
    EXPECT_EQ(fused.slices[5].box, (Box{{0, 16}, {42, 6}}));
    EXPECT_EQ(fused.slices[6].rank, 2);
    EXPECT_EQ(fused.slices[6].box, (Box{{0, 16}, {0, 48}}));
    // The table of tokens: 12 and 7 rows, and whole on two other ranks.
    const HeldTensor& table = tensors.at("transformer.wte.weight");
    ASSERT_EQ(table.slices.size(), 4U);
    EXPECT_EQ(table.slices[0].box, (Box{{0, 12}, {0, 16}}));
    EXPECT_EQ(table.slices[3].rank, 3);
    EXPECT_EQ(table.slices[3].box, (Box{{0, 19}, {0, 16}}));
    for (const auto& [name, tensor] : tensors) {
        for (const Slice& slice : tensor.slices) EXPECT_NE(slice.rank, 4) << name;  // it is idle
    }
}

}  // namespace
}  // namespace trireme
