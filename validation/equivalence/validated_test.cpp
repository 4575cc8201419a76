// Schedules with speculative updates have the results of a single rank, whether updates were valid or were
// rolled back and the following forwards repeated.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iomanip>
#include <sstream>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"

namespace trireme::equivalence {
namespace {

using messages::programs;

struct SpeculativeRun {
    const char* name;
    const char* model;
    const char* way;
    int ranks;
};

void PrintTo(const SpeculativeRun& trial, std::ostream* out) { *out << trial.name; }  // for GoogleTest

constexpr std::array speculative_runs{
    SpeculativeRun{"ZbH1TwoStages", gpt2_tied, "--schedule zb-h1 --pipe 2 --microbatches 3 --length pack", 2},
    SpeculativeRun{"ZbH1FourStages", gpt2_untied, "--schedule zb-h1 --pipe 4 --microbatches 5", 4},
    SpeculativeRun{"ZbH1FewMicrobatches", gpt2_untied, "--schedule zb-h1 --pipe 4 --microbatches 2", 4},
    SpeculativeRun{"ZbH2FourStages", gpt2_tied,
                   "--schedule zb-h2 --pipe 4 --microbatches 7 --recompute selective", 4},
    SpeculativeRun{"ZbH2TwoReplicas", gpt2_tied,
                   "--schedule zb-h2 --pipe 3 --data 2 --microbatches 5 --shard-optimizer off", 6},
    SpeculativeRun{"ZbH2TensorParallel", llama_untied,
                   "--schedule zb-h2 --pipe 2 --data 2 --tensor 2 --microbatches 3 --sequence-parallel on", 8},
    SpeculativeRun{"ZbVThreeRanks", gpt2_tied, "--schedule zb-v --pipe 3 --microbatches 5 --length pack", 3},
    SpeculativeRun{"ZbVTwoReplicas", llama_untied, "--schedule zb-v --pipe 2 --data 2 --microbatches 4", 4}};

class SpeculativeUpdates : public testing::Test {
protected:
    // Runs 20 steps, with an evaluation in the middle that drains the pipeline.
    Figures run(const SpeculativeRun& trial, const std::string& options, std::size_t mpi) {
        return trials_.run(training(trial) + trial.way + options, trial.ranks, mpi);
    }
    Figures one_rank(const SpeculativeRun& trial, const std::string& options) {
        return trials_.run(training(trial) + options, 0, 0);
    }

    // Returns the median of the gradient norms; as a clipping threshold, about half of the gradients exceed it.
    double median_norm(const SpeculativeRun& trial, const std::string& numbers) {
        std::vector<double> norms = one_rank(trial, numbers + " --clip 0").norms;
        std::ranges::sort(norms);
        return norms[norms.size() / 2];
    }

    void expect_single_rank_results(const Figures& figures, const Figures& expected, bool is_double) {
        const Difference apart = difference(figures, expected);
        EXPECT_TRUE(is_within_tolerance(apart, is_double)) << to_string(apart) << " from a single rank's";
    }

    void expect_roll_backs(const SpeculativeRun& trial, const char* numbers) {
        const double clip = median_norm(trial, numbers);
        const Figures expected = one_rank(trial, numbers + clipped_at(clip));

        const Figures figures = run(trial, numbers + clipped_at(clip), many_ranks());

        expect_single_rank_results(figures, expected, numbers == in_double);
        EXPECT_EQ(figures.rolled_back, predict_rollbacks(expected.norms, clip));
        EXPECT_GT(std::ranges::count(figures.rolled_back, true), 1);
        EXPECT_TRUE(expected.rolled_back.empty());
    }

    // Returns for each step whether its update is rolled back. An update is speculative only if the one before
    // it was not clipped.
    static std::vector<bool> predict_rollbacks(const std::vector<double>& norms, double clip) {
        std::vector<bool> rolled_back;
        bool is_speculative = true;
        for (const double norm : norms) {
            const bool is_clipped = norm + 1e-6 > clip;
            rolled_back.push_back(is_speculative && is_clipped);
            is_speculative = !is_clipped;
        }
        return rolled_back;
    }

    static std::string clipped_at(double clip) {
        std::ostringstream text;
        text << std::setprecision(17) << " --clip " << clip;
        return text.str();
    }

    // The simulator if it was built, otherwise an MPI library.
    static std::size_t many_ranks() { return programs() - 1; }

private:
    static std::string training(const SpeculativeRun& trial) {
        return trial.model + std::string(" --corpus corpus.h5 --batch 12 --layers 4 --positions 24 ") +
               "--dropout 0.1 --lr 5e-3 --warmup-steps 3 --validation-share 0.2 ";
    }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file("")};
};

class EverySpeculativeUpdate : public SpeculativeUpdates, public testing::WithParamInterface<SpeculativeRun> {};

TEST_P(EverySpeculativeUpdate, IsRolledBackIfItsNormRequiresClipping) {
    expect_roll_backs(GetParam(), in_double);
}

std::string name_of_speculative_run(const testing::TestParamInfo<SpeculativeRun>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Every, EverySpeculativeUpdate, testing::ValuesIn(speculative_runs),
                         name_of_speculative_run);

class ChosenSpeculativeUpdates : public SpeculativeUpdates,
                                 public testing::WithParamInterface<SpeculativeRun> {};

TEST_P(ChosenSpeculativeUpdates, AreRolledBackWithFastKernels) { expect_roll_backs(GetParam(), in_single); }

TEST_P(ChosenSpeculativeUpdates, AreKeptIfNothingIsClipped) {
    const std::string options = std::string(in_double) + clipped_at(100);

    const Figures figures = run(GetParam(), options, many_ranks());

    expect_single_rank_results(figures, one_rank(GetParam(), options), true);
    EXPECT_EQ(figures.rolled_back, std::vector<bool>(20, false));
}

// Only the first update is speculative and rolled back; the others wait for the norm.
TEST_P(ChosenSpeculativeUpdates, WaitForTheNormIfAllIsClipped) {
    const std::string options = std::string(in_double) + clipped_at(0.01);

    const Figures figures = run(GetParam(), options, many_ranks());

    expect_single_rank_results(figures, one_rank(GetParam(), options), true);
    std::vector<bool> only_first(20, false);
    only_first.front() = true;
    EXPECT_EQ(figures.rolled_back, only_first);
}

TEST_P(ChosenSpeculativeUpdates, AreReproducibleBitForBitUnderEveryMpiLibrary) {
    const std::string options = in_double + clipped_at(median_norm(GetParam(), in_double));
    const Figures first = run(GetParam(), options, 0);
    for (const std::size_t mpi : messages::programs_for(GetParam().ranks)) {
        EXPECT_EQ(run(GetParam(), options, mpi), first) << "MPI library " << mpi;
    }
}

INSTANTIATE_TEST_SUITE_P(Few, ChosenSpeculativeUpdates,
                         testing::Values(speculative_runs[0], speculative_runs[3], speculative_runs[6]),
                         name_of_speculative_run);

}  // namespace
}  // namespace trireme::equivalence
