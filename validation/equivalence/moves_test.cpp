// A run that changes its plan every five steps, between random layouts of any number of ranks and perhaps with
// other frozen blocks, has the results of a single rank. Its decisions can be replayed bit for bit.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "ranks/mover/random_layouts.hpp"
#include "scratch_folder.hpp"
#include "trireme/plan/decision.hpp"

namespace trireme::equivalence {
namespace {

using messages::programs;
using validation::make_random_layout;

constexpr std::size_t steps = 60;
constexpr std::size_t period = 5;
constexpr std::size_t max_ranks = 8;

struct ChangingRun {
    const char* name;
    const char* model;
    std::size_t max_shares;
    const char* precision;
    bool is_double;
    const char* way;
    bool freezes = false;  // the changes also freeze and thaw blocks
};

void PrintTo(const ChangingRun& run, std::ostream* out) { *out << run.name; }  // for GoogleTest

constexpr std::array changing_runs{
    ChangingRun{"Gpt2Tied", "--model gpt2-tiny --tied on --width 16 --heads 4", 4, in_double, true, ""},
    ChangingRun{"Gpt2TiedWithUnshardedMomentsThatFreezes", "--model gpt2-tiny --tied on --width 16 --heads 4",
                4, in_double, true, "--shard-optimizer off --length pack", true},
    ChangingRun{"LlamaUntiedThatFreezes",
                "--model llama-tiny --tied off --width 16 --heads 4 --groups 2 --mlp-width 20", 2, in_double,
                true, "--schedule gpipe --sequence-parallel on", true},
    ChangingRun{"Gpt2TiedInSingleThatFreezes", "--model gpt2-tiny --tied on --width 16 --heads 4", 4, in_single,
                false, "", true},
};

// Frozen blocks after each change.
constexpr std::array depths{1, 1, 3, 4, 2, 0, 2, 3, 1, 1, 0};
static_assert(depths.size() == steps / period - 1);

class PlanChanges : public testing::TestWithParam<ChangingRun> {
protected:
    // Writes a decision with a random layout after every fifth step. A number of frozen blocks that does not
    // change is omitted.
    void write_decisions(std::size_t ranks, const std::string& name = "decisions.jsonl") {
        std::ofstream file(folder_.file(name));
        for (std::size_t step = period; step < steps; step += period) {
            plan::Decision decision{
                .step = step,
                .layout = make_random_layout(
                    step,
                    {.ranks = ranks, .layers = 11, .max_shares = GetParam().max_shares, .max_replicas = 3})};
            const std::size_t change = step / period - 1;
            const bool is_new = change == 0 || depths[change] != depths[change - 1];
            if (GetParam().freezes && is_new) decision.frozen = depths[change];
            file << to_json(decision) << '\n';
        }
    }

    // Returns the results of a single rank, which only changes the frozen blocks.
    Figures run_on_one_rank() {
        if (!GetParam().freezes) return trials_.run_steps(training(), 0, 0);
        write_decisions(1, "depths.jsonl");
        return trials_.run_steps(training() + " --decisions depths.jsonl", 1, 0);
    }

    std::string training() const {
        return GetParam().model + std::string(GetParam().precision) +
               " --corpus corpus.h5 --layers 4 --positions 24 --dropout 0.1 --lr 5e-3 --validation-share 0.2 "
               "--batch 8 --warmup-steps 3 --eval-every 20 --steps " +
               std::to_string(steps);
    }

    Figures run_with_changes(std::size_t ranks, std::size_t mpi, const std::string& decisions,
                             const std::string& move = "stop") {
        return trials_.run_steps(training() + " " + GetParam().way + " --data " + std::to_string(ranks) +
                                     " --decisions " + decisions + " --move " + move,
                                 static_cast<int>(ranks), mpi);
    }

    // Returns the losses after step 10, of a run that resumes from another one's checkpoint of that step.
    std::vector<double> run_resumed(std::size_t ranks, std::size_t mpi) {
        return run_with_changes(ranks, mpi, "first/decisions.jsonl --resume first/checkpoints/step-10").losses;
    }

    std::vector<plan::Decision> decisions_of_run() const {
        return plan::parse_decisions(validation::read_whole(folder_.file("run/decisions.jsonl")), "it");
    }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file("")};
};

TEST_P(PlanChanges, MatchASingleRank) {
    write_decisions(max_ranks);

    const Figures moved = run_with_changes(max_ranks, programs() - 1, "decisions.jsonl");

    for (const char* const way : {"overlap", "twins", "restart"}) {
        EXPECT_EQ(run_with_changes(max_ranks, programs() - 1, "decisions.jsonl", way), moved) << way;
    }
    const Difference apart = difference(moved, run_on_one_rank());
    EXPECT_TRUE(is_within_tolerance(apart, GetParam().is_double)) << to_string(apart);
    EXPECT_EQ(moved.losses.size(), steps);
}

TEST_P(PlanChanges, AreRecordedAndReplayedBitForBit) {
    write_decisions(3);
    const Figures moved = run_with_changes(3, 0, "decisions.jsonl");
    const std::vector<plan::Decision> decisions = decisions_of_run();
    trials_.keep_as("first");

    EXPECT_EQ(run_with_changes(3, programs() - 1, "first/decisions.jsonl"), moved);

    ASSERT_EQ(decisions.size(), steps / period - 1);
    const std::vector<plan::Decision> again = decisions_of_run();
    double moved_bytes = 0;
    for (std::size_t d = 0; d < decisions.size(); ++d) {
        EXPECT_EQ(decisions[d].policy, "recorded");
        EXPECT_EQ(again[d].to, decisions[d].to);
        EXPECT_EQ(again[d].terms, decisions[d].terms);
        EXPECT_EQ(decisions[d].predicted_seconds.has_value(), d > 0);  // predictions need an earlier change
        moved_bytes += decisions[d].terms.at("moved_bytes");
    }
    EXPECT_GT(moved_bytes, 0);
}

class PlanChangesAndCheckpoints : public PlanChanges {};

// A plan change is due at the step of the checkpoint, and follows the checkpoint.
TEST_P(PlanChangesAndCheckpoints, ResumeBitForBit) {
    write_decisions(3);
    const Figures moved = run_with_changes(3, 0, "decisions.jsonl --checkpoint-every 10");
    trials_.keep_as("first");

    EXPECT_EQ(run_resumed(3, 0), std::vector(moved.losses.begin() + 10, moved.losses.end()));
}

std::string name_of_run(const testing::TestParamInfo<ChangingRun>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Every, PlanChanges, testing::ValuesIn(changing_runs), name_of_run);
INSTANTIATE_TEST_SUITE_P(Few, PlanChangesAndCheckpoints, testing::Values(changing_runs[1], changing_runs[3]),
                         name_of_run);

// Schedules that keep micro-batches in flight across steps drain before a plan change, as for an evaluation.
TEST(PlanChangesWithWorkInFlight, MatchARunThatDrainsAtTheSameSteps) {
    validation::ScratchFolder folder;
    Trials trials(folder.file(""));
    std::ofstream file(folder.file("decisions.jsonl"));
    for (const std::size_t step : {5, 10, 15}) {
        layout::Layout layout{.layers = 11,
                              .stages = {{.layers = {0, step / 2}}, {.layers = {step / 2, 11 - step / 2}}}};
        layout.stages[0].replicas = {{.ranks = {static_cast<int>(step / 5) % 2}, .shares = {1}}};
        layout.stages[1].replicas = {{.ranks = {static_cast<int>(step / 5 + 1) % 2}, .shares = {1}}};
        file << to_json(plan::Decision{.step = step, .layout = layout}) << '\n';
    }
    file.close();
    const std::string training =
        "--model gpt2-tiny --tied off --width 16 --heads 4 --corpus corpus.h5 --layers 4 --positions 24 "
        "--batch 8 "
        "--validation-share 0.2 --pipe 2 --microbatches 4 --schedule pipedream-2bw --steps 20 --eval-every 5 "
        "--lr 5e-3 --dtype f64 --device reference";

    const Figures moved = trials.run_steps(training + " --decisions decisions.jsonl", 2, 0);

    for (const std::string way : {"twins", "restart"}) {
        EXPECT_EQ(trials.run_steps(training + " --decisions decisions.jsonl --move " + way, 2, 0), moved)
            << way;
    }
    const Difference apart = difference(moved, trials.run_steps(training, 2, 0));
    EXPECT_TRUE(is_within_tolerance(apart, true)) << to_string(apart);
}

}  // namespace
}  // namespace trireme::equivalence
