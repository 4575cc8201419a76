// Runs whose layouts follow the number of frozen blocks have the results of a single rank with the same rule.
#include "equivalence/pipe_changes.hpp"

#include <array>
#include <map>

namespace trireme::equivalence {
namespace {

struct PipeRun {
    const char* name;
    int ranks;
    std::size_t mpi;  // see choose_mpi()
    const char* way;  // options that must not change the results
    std::size_t min_changes = 1;
    const char* model = gpt2_tied;
    int batch = 16;
    const char* precision = in_double;
    const char* rule = "--freeze schedule --freeze-alpha 0.3 --freeze-every 4 ";
};

void PrintTo(const PipeRun& run, std::ostream* out) { *out << run.name; }  // for GoogleTest

// pipe_layouts.py combines numbers of ranks, --auto-dp and --move in all ways, also with --auto-pipe on.
constexpr std::array pipe_runs{
    PipeRun{"TwoRanksOneOfWhichBecomesIdle", 2, 1,
            "--pipe 2 --microbatches 4 --auto-pipe published --auto-dp off --move twins --length pack", 1,
            llama_untied},
    PipeRun{"ThreeRanks", 3, 1,
            "--pipe 3 --microbatches 6 --auto-pipe published --auto-dp on --move overlap "
            "--shard-optimizer off",
            1, gpt2_untied, 18},
    PipeRun{"ThreeRanksTwoOfWhichBecomeIdle", 3, 0,
            "--pipe 3 --microbatches 6 --auto-pipe published --auto-dp off --move restart", 1, gpt2_tied, 18},
    PipeRun{"FourRanks", 4, 0,
            "--pipe 4 --microbatches 8 --auto-pipe published --auto-dp on --move restart --recompute full", 2},
    PipeRun{"EightRanks", 8, 0, "--pipe 8 --microbatches 8 --auto-pipe published --auto-dp on --move twins", 3},
    PipeRun{"EightRanksMostOfWhichBecomeIdle", 8, 0,
            "--pipe 8 --microbatches 8 --auto-pipe published --auto-dp off --move stop", 3, llama_untied},
    // The 60 training samples are visited once within step 4, twice within step 8, and 4 times after step 15.
    PipeRun{"EightRanksWithPeriodsThatEndWithinAStep", 8, 0,
            "--pipe 8 --microbatches 16 --auto-pipe published --auto-dp off --move restart", 3, gpt2_tied, 16,
            in_double, "--freeze schedule --freeze-alpha 0.3 --freeze-every epoch "},
    PipeRun{"EightRanksInSingle", 8, 0, "--pipe 8 --microbatches 8 --auto-pipe published --auto-dp on", 3,
            gpt2_tied, 16, in_single},
};

class CoveredPipeChanges : public PipeChanges, public testing::WithParamInterface<PipeRun> {};

TEST_P(CoveredPipeChanges, GiveTheResultsOfASingleRank) {
    const PipeRun& run = GetParam();
    const std::string options = training(run.model, run.precision, run.batch) + run.rule;
    const bool is_double = std::string(run.precision) == in_double;

    const Figures figures = trials_.run_steps(options + run.way, run.ranks, choose_mpi(run.ranks, run.mpi));

    EXPECT_GE(count_layout_changes(), run.min_changes);
    const Figures one = trials_.run_steps(options, 0, 0);
    EXPECT_EQ(figures.losses.size(), all_steps);
    EXPECT_LT(figures.losses.back(), figures.losses.front());
    expect_equal(figures, one, is_double);
}

std::string name_of_pipe_run(const testing::TestParamInfo<PipeRun>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Covering, CoveredPipeChanges, testing::ValuesIn(pipe_runs), name_of_pipe_run);

// An epoch is not a whole number of steps.
TEST_F(PipeChanges, FollowPeriodsThatEndWithinAStep) {
    trials_.run_steps(training() + "--freeze schedule --freeze-alpha 0.3 --freeze-every epoch ", 0, 0);

    std::vector<std::size_t> steps;
    for (const plan::Decision& decision : decisions()) steps.push_back(decision.step);
    EXPECT_EQ(steps, (std::vector<std::size_t>{4, 8, 12, 15}));
}

// A limit excludes layouts, but the same blocks freeze.
TEST_F(PipeChanges, GiveTheResultsOfASingleRankWithinAMemoryLimit) {
    const std::string options = training() + rule;
    const Figures one = trials_.run_steps(options, 0, 0);

    const Figures figures = trials_.run_steps(
        options + "--pipe 4 --microbatches 16 --auto-pipe published --memory-limit 1400000", 4, 0);

    expect_equal(figures, one);
    for (const plan::Decision& decision : decisions())
        EXPECT_EQ(decision.frozen,
                  (std::map<std::size_t, int>{{0, 0}, {4, 3}, {8, 5}, {12, 6}, {16, 7}}).at(decision.step));
    EXPECT_EQ(decisions().size(), 5U);
}

}  // namespace
}  // namespace trireme::equivalence
