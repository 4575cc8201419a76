// Schedules that keep micro-batches in flight across steps have the results of their formula, not those of a
// single rank, in every layout and with the same bits on all MPI libraries. The ages of weights are computed by
// hand here.
//
//   --pipe 4 --microbatches 2      in flight when the first backward begins    lacks the updates of
//   stage 0   F0 F1 F2 F3 B0 ...   3 micro-batches                             2 steps
//   stage 1   F0 F1 F2 B0 ...      2                                           1
//   stage 2   F0 F1 B0 ...         1                                           1
//   stage 3   F0 B0 ...            0                                           0
//
// Replicas take turns, so with more replicas each has fewer micro-batches in flight. If a stage of R replicas
// has w in flight, the stage before it, with S replicas, has ceil((w + 1) R / S).
#include "equivalence/replay.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "equivalence/trials.hpp"
#include "messages/program.hpp"
#include "scratch_folder.hpp"
#include "trireme/setup/planning.hpp"
#include "unit/app/arguments.hpp"

namespace trireme::equivalence {
namespace {

using messages::programs;

struct InFlight {
    const char* name;
    const char* model;
    const char* way;
    std::vector<std::size_t> delays;  // per stage
};

void PrintTo(const InFlight& in_flight, std::ostream* out) { *out << in_flight.name; }  // for GoogleTest

// Most gradients are longer than 0.1, so --clip 0.1 clips them. None is longer than 100.
const std::array all_in_flight{
    InFlight{"PipeDreamFourStages",
             gpt2_untied,
             "--schedule pipedream --pipe 4 --microbatches 1 --length pack --clip 0.1 --eval-every 5",
             {3, 2, 1, 0}},
    InFlight{"PipeDreamUnequalDelays",
             gpt2_untied,
             "--schedule pipedream --pipe 4 --microbatches 2 --recompute selective --clip 0.1",
             {2, 1, 1, 0}},
    InFlight{"PipeDreamTwoReplicas",
             llama_untied,
             "--schedule pipedream --pipe 3 --data 2 --microbatches 1 --shard-optimizer off --clip 100",
             {2, 1, 0}},
    InFlight{"PipeDreamTensorParallel",
             llama_untied,
             "--schedule pipedream --pipe 2 --data 2 --tensor 2 --microbatches 3 --sequence-parallel on "
             "--recompute full --clip 0.1",
             {1, 0}},
    InFlight{
        "PipeDreamTensorParallelThreeStages",
        gpt2_untied,
        "--schedule pipedream --pipe 3 --tensor 2 --microbatches 4 --length pack --clip 0.1 --eval-every 4",
        {1, 1, 0}},
    InFlight{"PipeDreamManyMicrobatches",
             gpt2_untied,
             "--schedule pipedream --pipe 2 --microbatches 8 --clip 100",
             {1, 0}},
    InFlight{"PipeDreamReplicas21",
             llama_untied,
             "--schedule pipedream --layout replicas-2-1.json --microbatches 2 --clip 0.1 --eval-every 5",
             {1, 0}},
    InFlight{"PipeDreamReplicas332",
             gpt2_untied,
             "--schedule pipedream --layout replicas-3-3-2.json --microbatches 3 --length pack --clip 0.1 "
             "--shard-optimizer off",
             {2, 1, 0}},

    InFlight{"PipeDreamFrozenStage",
             gpt2_untied,
             "--schedule pipedream --pipe 4 --microbatches 1 --frozen 2 --clip 0.1 --eval-every 5",
             {3, 2, 1, 0}},

    InFlight{"VerticalSyncFourStages",
             gpt2_tied,
             "--schedule pipedream-vertical --pipe 4 --microbatches 1 --clip 100 --eval-every 5",
             {3, 3, 3, 3}},
    InFlight{"VerticalSyncTwoMicrobatches",
             gpt2_tied,
             "--schedule pipedream-vertical --pipe 4 --microbatches 2 --recompute selective --clip 0.1",
             {2, 2, 2, 2}},
    InFlight{"VerticalSyncTwoReplicas",
             gpt2_tied,
             "--schedule pipedream-vertical --pipe 3 --data 2 --microbatches 1 --length pack --recompute full "
             "--shard-optimizer off --clip 0.1 --eval-every 4",
             {2, 2, 2}},
    InFlight{"VerticalSyncTensorParallel",
             llama_untied,
             "--schedule pipedream-vertical --pipe 2 --tensor 2 --microbatches 2 --clip 0.1",
             {1, 1}},
    InFlight{"VerticalSyncManyMicrobatches",
             gpt2_untied,
             "--schedule pipedream-vertical --pipe 4 --microbatches 8 --length pack --clip 0.1",
             {1, 1, 1, 1}},
    InFlight{"VerticalSyncReplicas21",
             gpt2_tied,
             "--schedule pipedream-vertical --layout replicas-2-1.json --microbatches 4 --clip 0.1",
             {1, 1}},
    InFlight{"VerticalSyncReplicas332",
             gpt2_tied,
             "--schedule pipedream-vertical --layout replicas-3-3-2.json --microbatches 3 --clip 0.1 "
             "--eval-every 5",
             {2, 2, 2}},
    InFlight{"VerticalSyncReplicas332UnevenMicrobatches",
             gpt2_tied,
             "--schedule pipedream-vertical --layout replicas-3-3-2.json --microbatches 5 --length pack "
             "--clip 0.1",
             {2, 2, 2}},
    InFlight{"VerticalSyncFrozenTable",
             gpt2_tied,
             "--schedule pipedream-vertical --pipe 3 --data 2 --microbatches 1 --length pack --frozen 1 "
             "--clip 0.1",
             {2, 2, 2}},

    InFlight{"TwoBufferedTwoStages",
             gpt2_tied,
             "--schedule pipedream-2bw --pipe 2 --microbatches 1 --clip 0.1 --eval-every 5",
             {1, 1}},
    InFlight{"TwoBufferedTwoReplicas",
             gpt2_tied,
             "--schedule pipedream-2bw --pipe 3 --data 2 --microbatches 2 --shard-optimizer off --clip 0.1",
             {1, 1, 1}},
    InFlight{"TwoBufferedFourStages",
             gpt2_tied,
             "--schedule pipedream-2bw --pipe 4 --microbatches 3 --length pack --recompute selective "
             "--clip 100 --eval-every 5",
             {1, 1, 1, 1}},
    InFlight{"TwoBufferedTensorParallel",
             llama_untied,
             "--schedule pipedream-2bw --pipe 2 --data 2 --tensor 2 --microbatches 4 --sequence-parallel on "
             "--length pack --clip 0.1",
             {1, 1}},
    InFlight{"TwoBufferedManyMicrobatches",
             gpt2_untied,
             "--schedule pipedream-2bw --pipe 4 --microbatches 8 --recompute full --clip 0.1",
             {1, 1, 1, 1}},
    InFlight{"TwoBufferedOneStage",
             llama_untied,
             "--schedule pipedream-2bw --pipe 1 --data 2 --microbatches 2 --clip 0.1 --eval-every 4",
             {1}},
    InFlight{"TwoBufferedReplicas21",
             gpt2_tied,
             "--schedule pipedream-2bw --layout replicas-2-1.json --microbatches 2 --length pack --clip 0.1",
             {1, 1}},
    InFlight{"TwoBufferedFrozenStages",
             llama_untied,
             "--schedule pipedream-2bw --pipe 4 --tensor 2 --microbatches 3 --frozen 3 --shard-optimizer off "
             "--clip 0.1",
             {1, 1, 1, 1}},
    InFlight{"TwoBufferedReplicas332",
             gpt2_tied,
             "--schedule pipedream-2bw --layout replicas-3-3-2.json --microbatches 6 --clip 0.1 --eval-every 5",
             {1, 1, 1}},
};

const InFlight& in_flight_named(const std::string& name) {
    return *std::ranges::find(all_in_flight, name, &InFlight::name);
}

std::string options_of(const InFlight& in_flight, const char* precision) {
    return in_flight.model + std::string(" ") + in_flight.way + " " + precision +
           " --corpus corpus.h5 --batch 12 --steps 12 --layers 4 --positions 24 --dropout 0.1 --lr 5e-3 "
           "--warmup-steps 3 --validation-share 0.2";
}

class WorkInFlight : public testing::Test {
protected:
    // Returns the configuration of the run, with the file paths of the trials' folder.
    config::RunConfig config_of(const InFlight& in_flight, const char* precision) const {
        const app::Command command = app::parse("train " + options_of(in_flight, precision));
        config::RunConfig config = std::get<app::TrainCommand>(command).config;
        config.data.corpus = folder_.file(config.data.corpus);
        if (!config.layout.layout.empty()) config.layout.layout = folder_.file(config.layout.layout);
        return config;
    }

    static ReplayRule rule_of(const InFlight& in_flight, const config::RunConfig& config) {
        return {.delays = in_flight.delays, .clips_per_stage = config.schedule.schedule == "pipedream"};
    }

    static Replayed replayed(const config::RunConfig& config, const ReplayRule& rule) {
        return replay(setup::set_up(config, setup::count_requested_ranks(config)), rule);
    }

    Figures run(const InFlight& in_flight, const char* precision, std::size_t mpi) {
        const int ranks = setup::count_requested_ranks(config_of(in_flight, precision));
        return trials_.run_steps(options_of(in_flight, precision), ranks, mpi);
    }

    void expect_formula_results(const Figures& figures, const InFlight& in_flight,
                                const char* precision) const {
        const config::RunConfig config = config_of(in_flight, precision);
        const Replayed expected = replayed(config, rule_of(in_flight, config));
        const Difference apart = difference(figures, expected.figures);

        EXPECT_TRUE(is_within_tolerance(apart, config.precision.dtype == config::Precision::f64))
            << to_string(apart) << " from the formula's";
        if (config.optimizer.clip < 1) {
            EXPECT_GT(2 * expected.clipped, expected.updates);
        } else {
            EXPECT_EQ(expected.clipped, 0U);
        }
    }

    // The simulator if it was built, otherwise an MPI library.
    static std::size_t many_ranks() { return programs() - 1; }

    validation::ScratchFolder folder_;
    Trials trials_{folder_.file("")};
};

class EveryWorkInFlight : public WorkInFlight, public testing::WithParamInterface<InFlight> {};

TEST_P(EveryWorkInFlight, MatchesItsFormula) {
    const Figures figures = run(GetParam(), in_double, many_ranks());

    expect_formula_results(figures, GetParam(), in_double);
}

std::string name_of_in_flight(const testing::TestParamInfo<InFlight>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(InDouble, EveryWorkInFlight, testing::ValuesIn(all_in_flight), name_of_in_flight);

TEST_F(WorkInFlight, MatchesItsFormulaWithFastKernels) {
    for (const char* name : {"PipeDreamUnequalDelays", "PipeDreamReplicas332", "VerticalSyncTwoReplicas",
                             "VerticalSyncTensorParallel", "TwoBufferedFourStages", "TwoBufferedReplicas332"}) {
        SCOPED_TRACE(name);
        const InFlight& in_flight = in_flight_named(name);

        const Figures figures = run(in_flight, in_single, many_ranks());

        expect_formula_results(figures, in_flight, in_single);
    }
}

// Runs with two and four ranks, under every MPI library that may run that many, and in the simulation.
class ChosenWorkInFlight : public WorkInFlight, public testing::WithParamInterface<InFlight> {};

TEST_P(ChosenWorkInFlight, IsReproducibleBitForBitUnderEveryMpiLibrary) {
    const Figures first = run(GetParam(), in_double, 0);

    expect_formula_results(first, GetParam(), in_double);
    for (const std::size_t mpi :
         messages::programs_for(setup::count_requested_ranks(config_of(GetParam(), in_double)))) {
        EXPECT_EQ(run(GetParam(), in_double, mpi), first) << "MPI library " << mpi;
    }
}

INSTANTIATE_TEST_SUITE_P(Few, ChosenWorkInFlight,
                         testing::Values(in_flight_named("PipeDreamFourStages"),
                                         in_flight_named("VerticalSyncTensorParallel"),
                                         in_flight_named("TwoBufferedTwoStages"),
                                         in_flight_named("TwoBufferedFourStages")),
                         name_of_in_flight);

// Shows that the tolerances above detect a wrong formula.
class WorkInFlightFormula : public WorkInFlight {
protected:
    static constexpr double noticeable = 1e-6;

    // Returns the difference between the losses under the right rule and another one.
    double apart(const ReplayRule& other) const {
        return difference(replayed(config_, other).figures, replayed(config_, rule_).figures).losses;
    }

    const InFlight& in_flight_ = in_flight_named("PipeDreamFourStages");
    const config::RunConfig config_ = config_of(in_flight_, in_double);
    const ReplayRule rule_ = rule_of(in_flight_, config_);
};

TEST_F(WorkInFlightFormula, DetectsOneMoreStepOfDelayInAnyStage) {
    for (std::size_t stage = 0; stage < rule_.delays.size(); ++stage) {
        ReplayRule later = rule_;
        ++later.delays[stage];

        EXPECT_GT(apart(later), noticeable) << "stage " << stage;
    }
}

TEST_F(WorkInFlightFormula, DetectsClippingByTheWrongNorm) {
    ReplayRule together = rule_;
    together.clips_per_stage = false;

    EXPECT_GT(apart(together), noticeable);
}

TEST_F(WorkInFlightFormula, DetectsWhetherAnEvaluationDrainsThePipeline) {
    config::RunConfig drained_once = config_;
    drained_once.run.eval_every = 6;
    config::RunConfig never_drained = config_;
    never_drained.run.eval_every = 12;
    const auto losses = [&](const config::RunConfig& config) { return replayed(config, rule_).figures.losses; };

    const std::vector<double> once = losses(drained_once);
    const std::vector<double> never = losses(never_drained);

    EXPECT_TRUE(std::equal(once.begin(), once.begin() + 6, never.begin()));
    EXPECT_GT(std::abs(once.back() - never.back()), noticeable);
}

}  // namespace
}  // namespace trireme::equivalence
