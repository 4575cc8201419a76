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

struct Validated {
    const char* name;
    const char* model;
    const char* way;
    int ranks;
};

void PrintTo(const Validated& validated, std::ostream* out) { *out << validated.name; }  // for GoogleTest

constexpr const char* gpt2_tied = "--model gpt2-tiny --tied on --width 16 --heads 4";
constexpr const char* gpt2_untied = "--model gpt2-tiny --tied off --width 16 --heads 4";
constexpr const char* llama_untied =
    "--model llama-tiny --tied off --width 16 --heads 4 --groups 2 --mlp-width 20";

constexpr std::array all_validated{
    Validated{"HOneOfTwo", gpt2_tied, "--schedule zb-h1 --pipe 2 --microbatches 3 --length pack", 2},
    Validated{"HOneOfFour", gpt2_untied, "--schedule zb-h1 --pipe 4 --microbatches 5", 4},
    Validated{"HOneOfFewMicroBatches", gpt2_untied, "--schedule zb-h1 --pipe 4 --microbatches 2", 4},
    Validated{"HTwoOfFour", gpt2_tied, "--schedule zb-h2 --pipe 4 --microbatches 7 --recompute selective", 4},
    Validated{"HTwoInTwoRows", gpt2_tied,
              "--schedule zb-h2 --pipe 3 --data 2 --microbatches 5 --shard-optimizer off", 6},
    Validated{"HTwoOfSharedTensors", llama_untied,
              "--schedule zb-h2 --pipe 2 --data 2 --tensor 2 --microbatches 3 --sequence-parallel on", 8},
    Validated{"VOfThree", gpt2_tied, "--schedule zb-v --pipe 3 --microbatches 5 --length pack", 3},
    Validated{"VInTwoRows", llama_untied, "--schedule zb-v --pipe 2 --data 2 --microbatches 4", 4}};

class ValidatedUpdates : public testing::Test {
protected:
    // Runs 20 steps, with an evaluation in the middle that drains the pipeline.
    Figures run(const Validated& validated, const std::string& options, std::size_t mpi) {
        return trials_.run(training(validated) + validated.way + options, validated.ranks, mpi);
    }
    Figures one_rank(const Validated& validated, const std::string& options) {
        return trials_.run(training(validated) + options, 0, 0);
    }

    // Returns a clipping threshold that about half of the gradients exceed.
    double clip_of_some(const Validated& validated, const std::string& numbers) {
        std::vector<double> norms = one_rank(validated, numbers + " --clip 0").norms;
        std::ranges::sort(norms);
        return norms[norms.size() / 2];
    }

    void expect_one_ranks(const Figures& figures, const Figures& expected, bool is_double) {
        const Difference apart = difference(figures, expected);
        EXPECT_TRUE(keeps_bars(apart, is_double)) << to_string(apart) << " from a single rank's";
    }

    void expect_roll_backs(const Validated& validated, const char* numbers) {
        const double clip = clip_of_some(validated, numbers);
        const Figures expected = one_rank(validated, numbers + clipped_at(clip));

        const Figures figures = run(validated, numbers + clipped_at(clip), many_ranks());

        expect_one_ranks(figures, expected, numbers == in_double);
        EXPECT_EQ(figures.rolled_back, roll_backs_by(expected.norms, clip));
        EXPECT_GT(std::ranges::count(figures.rolled_back, true), 1);
        EXPECT_TRUE(expected.rolled_back.empty());
    }

    // Returns for each step whether its update is rolled back. An update is speculative only if the one before
    // it was not clipped.
    static std::vector<bool> roll_backs_by(const std::vector<double>& norms, double clip) {
        std::vector<bool> rolled_back;
        bool goes_ahead = true;
        for (const double norm : norms) {
            const bool is_clipped = norm + 1e-6 > clip;
            rolled_back.push_back(goes_ahead && is_clipped);
            goes_ahead = !is_clipped;
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
    static std::string training(const Validated& validated) {
        return validated.model + std::string(" --corpus corpus.h5 --batch 12 --layers 4 --positions 24 ") +
               "--dropout 0.1 --lr 5e-3 --warmup-steps 3 --validation-share 0.2 ";
    }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file("")};
};

class EveryValidatedUpdate : public ValidatedUpdates, public testing::WithParamInterface<Validated> {};

TEST_P(EveryValidatedUpdate, IsRolledBackWhereTheNormClipsUnawares) {
    expect_roll_backs(GetParam(), in_double);
}

std::string name_of_validated(const testing::TestParamInfo<Validated>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Every, EveryValidatedUpdate, testing::ValuesIn(all_validated), name_of_validated);

class ChosenValidatedUpdates : public ValidatedUpdates, public testing::WithParamInterface<Validated> {};

TEST_P(ChosenValidatedUpdates, AreRolledBackWithTheFastKernels) { expect_roll_backs(GetParam(), in_single); }

TEST_P(ChosenValidatedUpdates, StandsWhereNothingIsClipped) {
    const std::string options = std::string(in_double) + clipped_at(100);

    const Figures figures = run(GetParam(), options, many_ranks());

    expect_one_ranks(figures, one_rank(GetParam(), options), true);
    EXPECT_EQ(figures.rolled_back, std::vector<bool>(20, false));
}

// Only the first update is speculative and rolled back; the others wait for the norm.
TEST_P(ChosenValidatedUpdates, WaitsWhereAllIsClipped) {
    const std::string options = std::string(in_double) + clipped_at(0.01);

    const Figures figures = run(GetParam(), options, many_ranks());

    expect_one_ranks(figures, one_rank(GetParam(), options), true);
    std::vector<bool> only_first(20, false);
    only_first.front() = true;
    EXPECT_EQ(figures.rolled_back, only_first);
}

TEST_P(ChosenValidatedUpdates, GiveTheSameBitsUnderEveryMpiLibraryAndTwice) {
    const std::string options = in_double + clipped_at(clip_of_some(GetParam(), in_double));
    const Figures first = run(GetParam(), options, 0);
    for (const std::size_t mpi : messages::programs_for(GetParam().ranks)) {
        EXPECT_EQ(run(GetParam(), options, mpi), first) << "MPI library " << mpi;
    }
}

INSTANTIATE_TEST_SUITE_P(Few, ChosenValidatedUpdates,
                         testing::Values(all_validated[0], all_validated[3], all_validated[6]),
                         name_of_validated);

}  // namespace
}  // namespace trireme::equivalence
