// A run that resumes from a checkpoint has the results of an uninterrupted run: bit for bit in the same layout,
// and within the tolerances of a single rank in any other.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"

namespace trireme::equivalence {
namespace {

using messages::programs;

constexpr std::size_t steps_before = 10;  // of twenty, followed by the first of two evaluations
const std::string saves = " --checkpoint-every 10";
const std::string resumes = saves + " --resume first/checkpoints/step-10";

// Removes the steps before the checkpoint.
Figures tail_of(const Figures& all) {
    Figures tail = all;
    for (std::vector<double>* values : {&tail.losses, &tail.norms})
        values->erase(values->begin(), values->begin() + static_cast<std::ptrdiff_t>(steps_before));
    tail.evaluations.erase(tail.evaluations.begin());
    tail.rolled_back.clear();
    return tail;
}

class Resume : public testing::Test {
protected:
    Figures run(const Case& chosen, const std::string& options, std::size_t mpi = programs() - 1) {
        return trials_.run(training_options(chosen) + " " + way_options(chosen) + options, ranks_of(chosen),
                           mpi);
    }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file("")};
};

struct LayoutChange {
    const char* name;
    const char* from;
    const char* to;
};

void PrintTo(const LayoutChange& change, std::ostream* out) { *out << change.name; }  // for GoogleTest

class ResumeInDifferentLayout : public Resume, public testing::WithParamInterface<LayoutChange> {};

TEST_P(ResumeInDifferentLayout, MatchesASingleRank) {
    const Case from = parse_case(GetParam().from);
    const Case to = parse_case(GetParam().to);
    ASSERT_EQ(training_options(from), training_options(to));
    const Figures& one = trials_.one_rank(from);

    const Difference first = difference(run(from, saves), one);
    trials_.keep_as("first");
    const Difference second = difference(run(to, resumes), tail_of(one));

    EXPECT_TRUE(is_within_tolerance(first, from)) << to_string(first) << " where checkpoints are saved";
    EXPECT_TRUE(is_within_tolerance(second, to)) << to_string(second) << " after the checkpoint";
}

// Replicas, shares, tied tables, sharded and unsharded moments, and idle ranks each change to something else.
constexpr std::array layout_changes{
    LayoutChange{
        "FromAGridToEverythingUneven",
        "layout=grid pipe=2 data=2 tensor=1 schedule=1f1b*1 model=gpt2-tied shard-optimizer=on precision=f64",
        "layout=everything-uneven schedule=gpipe*1 model=gpt2-tied shard-optimizer=on precision=f64"},
    LayoutChange{"FromEverythingUnevenToOneRank",
                 "layout=everything-uneven schedule=1f1b*1 model=gpt2-tied shard-optimizer=off precision=f64",
                 "layout=grid pipe=1 data=1 tensor=1 model=gpt2-tied precision=f64"},
    LayoutChange{"FromSharesToStages",
                 "layout=shares-5-2-1 schedule=1f1b*1 model=gpt2-untied shard-optimizer=on precision=f64",
                 "layout=grid pipe=4 data=1 tensor=1 schedule=gpipe*1 model=gpt2-untied shard-optimizer=off "
                 "precision=f64"},
    LayoutChange{"FromShardedToUnshardedMoments",
                 "layout=grid pipe=1 data=2 tensor=2 schedule=1f1b*1 model=llama-untied shard-optimizer=on "
                 "sequence-parallel=on precision=f64",
                 "layout=replicas-2-1 schedule=1f1b*1 model=llama-untied shard-optimizer=off precision=f64"},
    LayoutChange{"FromIdleRanksToOtherIdleRanks",
                 "layout=replicas-1-2-idle schedule=1f1b*1 model=gpt2-tied shard-optimizer=on precision=f32",
                 "layout=cut-differently schedule=1f1b*1 model=gpt2-tied shard-optimizer=on precision=f32"},
    LayoutChange{
        "FromOneRankToEverythingUneven", "layout=grid pipe=1 data=1 tensor=1 model=llama-tied precision=f32",
        "layout=everything-uneven schedule=gpipe*1 model=llama-tied shard-optimizer=off precision=f32"},
    LayoutChange{
        "FromVShapeToLoops",
        "layout=v-shares schedule=zb-v*2 model=gpt2-untied shard-optimizer=on precision=f64",
        "layout=looped-shares schedule=interleaved*2 model=gpt2-untied shard-optimizer=on precision=f64"}};

std::string name_of_change(const testing::TestParamInfo<LayoutChange>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Covering, ResumeInDifferentLayout, testing::ValuesIn(layout_changes), name_of_change);

TEST_F(Resume, IsBitForBitInTheSameLayout) {
    const Case chosen = parse_case(
        "layout=cut-differently-in-a-row schedule=1f1b*1 model=gpt2-tied shard-optimizer=on precision=f32");
    const Figures whole = run(chosen, saves);
    trials_.keep_as("first");

    EXPECT_EQ(run(chosen, resumes), tail_of(whole));
}

TEST_F(Resume, IsBitForBitUnderEveryMpiLibrary) {
    const Case chosen = parse_case("layout=replicas-2-1 model=llama-untied shard-optimizer=off precision=f64");
    for (const std::size_t mpi : messages::programs_for(ranks_of(chosen))) {
        std::filesystem::remove_all(folder_.file("first"));
        const Figures whole = run(chosen, saves, mpi);
        trials_.keep_as("first");

        EXPECT_EQ(run(chosen, resumes, mpi), tail_of(whole)) << "MPI library " << mpi;
    }
}

// These schedules drain before a checkpoint.
TEST_F(Resume, IsBitForBitForSchedulesWithWorkInFlight) {
    for (const char* schedule : {"pipedream --microbatches 1 --tied off", "pipedream-2bw --microbatches 4",
                                 "zb-h2 --microbatches 5 --clip 0.5"}) {
        std::filesystem::remove_all(folder_.file("first"));
        const std::string options =
            std::string(
                "--model gpt2-tiny --width 16 --heads 4 --layers 3 --positions 24 --corpus corpus.h5 --batch "
                "8 --validation-share 0.2 --dropout 0.1 --pipe 3 --schedule ") +
            schedule;
        const std::size_t mpi = programs() - 1;
        const Figures whole = trials_.run(options + saves, 3, mpi);
        trials_.keep_as("first");

        // The first speculative update of the resumed run may differ from that of the uninterrupted run.
        Figures resumed = trials_.run(options + resumes, 3, mpi);
        resumed.rolled_back.clear();
        EXPECT_EQ(resumed, tail_of(whole)) << schedule;
    }
}

// Optimizers with one moment and with none.
TEST_F(Resume, IsBitForBitForOptimizersWithOneOrNoMoment) {
    for (const char* optimizer : {"--optimizer sgd --momentum 0.9", "--optimizer sgd --momentum 0"}) {
        std::filesystem::remove_all(folder_.file("first"));
        const std::string options =
            std::string(
                "--model gpt2-tiny --width 16 --heads 4 --layers 2 --positions 24 --corpus corpus.h5 --batch "
                "8 --validation-share 0.2 --data 2 ") +
            optimizer;
        const Figures whole = trials_.run(options + saves, 2, programs() - 1);
        trials_.keep_as("first");

        EXPECT_EQ(trials_.run(options + resumes, 2, programs() - 1), tail_of(whole)) << optimizer;
    }
}

}  // namespace
}  // namespace trireme::equivalence
