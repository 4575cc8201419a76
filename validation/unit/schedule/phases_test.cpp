#include "trireme/schedule/phases.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/schedule/program_damage.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using Lines = std::initializer_list<const char*>;
using Texts = std::vector<std::string>;
using validation::catch_message;
using validation::says;

Phases phases_of(Lines prologue, Lines body) {
    return {.prologue = programs_of(prologue), .body = programs_of(body)};
}

PipelineShape of_steps(PipelineShape shape, int steps) {
    shape.steps = steps;
    return shape;
}

// Returns the drawing of phases.hpp for two stages.
Phases drawn() { return phases_of({"0F0", ""}, {"0F1 0B0@1 REDUCE0 STEP0", "1F0 1B0 REDUCE1 STEP1"}); }

TEST(ShiftedProgram, DiffersOnlyInItsMicrobatches) {
    const Program program = programs_of({"0F2 0RECV_B0 0B0@3 REDUCE0 STEP0"})[0];

    EXPECT_EQ(to_string(shift_microbatches(program, 4)), "0F6 0RECV_B4 0B4@3 REDUCE0 STEP0");
    EXPECT_EQ(shift_microbatches(shift_microbatches(program, 4), -4), program);
}

TEST(LookAhead, IsTheFurthestStepThatAnyPhaseReaches) {
    EXPECT_EQ(count_look_ahead_steps(phases_of({""}, {"0F0 0F1 0B0 0B1 REDUCE0 STEP0"}), 2), 0);
    EXPECT_EQ(count_look_ahead_steps(phases_of({""}, {"0F0 0B0 REDUCE0 STEP0"}), 1), 0);
    EXPECT_EQ(count_look_ahead_steps(drawn(), 1), 1);
    EXPECT_EQ(count_look_ahead_steps(phases_of({"0F0 0F1"}, {"0F2 0B0 REDUCE0 STEP0"}), 1), 2);
    EXPECT_EQ(count_look_ahead_steps(phases_of({"0F0 0F1 0F2", ""}, {"0F3 0B0 0F4 0B1 REDUCE0 STEP0", ""}), 2),
              2);
    EXPECT_EQ(count_look_ahead_steps(phases_of({"0RECV_B3", ""}, {"0B0", ""}), 2), 1);
}

TEST(UnrolledPhases, OmitWorkOfLaterSteps) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 1);

    EXPECT_EQ(texts_of(unroll(drawn(), shape, 1)), (Texts{"0F0 0B0@1 REDUCE0 STEP0", "1F0 1B0 REDUCE1 STEP1"}));
    EXPECT_EQ(texts_of(unroll(drawn(), shape, 3)),
              (Texts{"0F0 0F1 0B0@1 REDUCE0 STEP0 0F2 0B1@1 REDUCE0 STEP0 0B2@1 REDUCE0 STEP0",
                     "1F0 1B0 REDUCE1 STEP1 1F1 1B1 REDUCE1 STEP1 1F2 1B2 REDUCE1 STEP1"}));
    EXPECT_EQ(to_string(unroll_team(0, drawn(), shape, 2)), "0F0 0F1 0B0@1 REDUCE0 STEP0 0B1@1 REDUCE0 STEP0");
}

TEST(UnrolledPhases, OmitReducesAlreadyDoneByThePrologue) {
    const Phases phases = phases_of({"0F0 0B0 REDUCE0"}, {"0F1 0B1 REDUCE0 STEP0"});

    EXPECT_EQ(texts_of(unroll(phases, make_grid_shape(1, 1, 1, 1), 2)),
              (Texts{"0F0 0B0 REDUCE0 0F1 0B1 REDUCE0 STEP0 STEP0"}));
}

// A step that reduces or updates twice is wrong, and must not become right by being the last.
TEST(UnrolledPhases, KeepDuplicateCollectivesOfTheBody) {
    const PipelineShape shape = make_grid_shape(1, 1, 1, 1);

    for (const char* twice : {"0F0 0B0 REDUCE0 STEP0 STEP0", "0F0 0B0 REDUCE0 REDUCE0 STEP0"}) {
        const std::vector<Program> programs = unroll(phases_of({""}, {twice}), shape, 1);

        EXPECT_EQ(texts_of(programs), Texts{twice});
        EXPECT_FALSE(verify_programs(programs, shape).is_proved());
    }
}

TEST(UnrolledPhases, RepeatTheBodyOfSynchronousSchedules) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 2);
    const Phases phases = lower_phases(generate_phases(require_schedule("1f1b"), shape), shape);

    const std::vector<Program> programs = unroll(phases, shape, 2);

    EXPECT_EQ(phases.prologue, std::vector<Program>(2));
    for (std::size_t team = 0; team < 2; ++team) {
        const Program again = shift_microbatches(phases.body[team], 2);
        Program both = phases.body[team];
        both.insert(both.end(), again.begin(), again.end());
        EXPECT_EQ(to_string(programs[team]), to_string(both));
    }
}

TEST(Folding, RestoresUnrolledPhases) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 1);

    const Phases again = fold(unroll(drawn(), shape, 4), of_steps(shape, 4));

    EXPECT_EQ(again.prologue, drawn().prologue);
    EXPECT_EQ(again.body, drawn().body);
}

TEST(Folding, RestoresAsynchronousSchedules) {
    for (const Schedule& kind : {require_schedule("pipedream"), require_schedule("pipedream-vertical"),
                                 require_schedule("pipedream-2bw")}) {
        const PipelineShape shape = make_grid_shape(3, 2, 1, 2);
        const Phases phases = lower_phases(generate_phases(kind, shape), shape);

        const Phases again = fold(unroll(phases, shape, 7), of_steps(shape, 7));

        EXPECT_EQ(again.prologue, phases.prologue) << kind.name;
        EXPECT_EQ(again.body, phases.body) << kind.name;
    }
}

// Before the first update there is one version of the weights, so ages would say nothing.
TEST(Folding, RemovesAgesFromThePrologue) {
    const std::vector<Program> programs = programs_of(
        {"0F0@4 0F1 0B0@1 REDUCE0 STEP0 0F2 0B1@1 REDUCE0 STEP0 0F3 0B2@1 REDUCE0 STEP0 0B3@1 REDUCE0 STEP0"});

    EXPECT_EQ(texts_of(fold(programs, of_steps(make_grid_shape(1, 1, 1, 1), 4)).prologue), Texts{"0F0"});
}

TEST(Folding, RejectsProgramsThatDoNotRepeat) {
    const PipelineShape shape = of_steps(make_grid_shape(1, 1, 1, 1), 3);
    const auto refusal = [&](const char* program) {
        return catch_message<BugError>([&] { fold(programs_of({program}), shape); });
    };

    EXPECT_EQ(
        refusal("0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0 0F2 0I2 0W2 REDUCE0 STEP0"),
        "the program of team 0 does not repeat the same step: 0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0 "
        "0F2 0I2 0W2 REDUCE0 STEP0");
    EXPECT_TRUE(says(refusal("0F0 0B0 REDUCE0 STEP0 0F1 0B1@1 REDUCE0 STEP0 0F2 0B2 REDUCE0 STEP0"),
                     "does not repeat"));
    EXPECT_TRUE(says(refusal("0F0 0I0 0W0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0 0F2 0B2 REDUCE0 STEP0"),
                     "does not repeat"));
    EXPECT_EQ(refusal("0F0 0B0 REDUCE0 STEP0 0F1 0B1 REDUCE0 STEP0"),
              "the program of team 0 has fewer than three steps to fold");
}

TEST(Repetition, IsFoundOnlyInProgramsThatCanBeFolded) {
    const PipelineShape shape = make_grid_shape(2, 1, 1, 1);
    std::vector<Program> programs = unroll(drawn(), shape, 4);

    EXPECT_TRUE(has_repeating_steps(programs, of_steps(shape, 4)));
    std::swap(programs[1][4], programs[1][5]);
    EXPECT_FALSE(has_repeating_steps(programs, of_steps(shape, 4)));
    programs[1].clear();
    EXPECT_FALSE(has_repeating_steps(programs, of_steps(shape, 4)));
}

TEST(InFlightWork, IsPartOfThePrologueOrALaterStep) {
    EXPECT_FALSE(keeps_work_in_flight(phases_of({""}, {"0F0@1 0B0@1 REDUCE0 STEP0"}), 1));
    EXPECT_TRUE(keeps_work_in_flight(phases_of({""}, {"0F1 0B1 REDUCE0 STEP0"}), 1));
    EXPECT_TRUE(keeps_work_in_flight(phases_of({"0F0"}, {"0B0 REDUCE0 STEP0"}), 1));
    EXPECT_TRUE(keeps_work_in_flight(drawn(), 1));
}

TEST(RepresentativeSteps, AreOneWithoutWorkInFlightOrOldWeights) {
    EXPECT_EQ(count_representative_steps(phases_of({""}, {"0F0 0F1 0B0 0B1 REDUCE0 STEP0"}), 2), 1);
}

// An age of N has no effect before N updates.
TEST(RepresentativeSteps, CoverAllWeightAges) {
    const PipelineShape shape = make_grid_shape(1, 1, 1, 1);
    const Phases same_ages = phases_of({""}, {"0F0@2 0B0@2 REDUCE0 STEP0"});
    const Phases mixed_ages = phases_of({""}, {"0F0@1 0B0@2 REDUCE0 STEP0"});

    EXPECT_EQ(count_representative_steps(same_ages, 1), 3);
    EXPECT_EQ(verify_programs(unroll(same_ages, shape, 3), of_steps(shape, 3)).proof.weight_versions[0][0], 3);
    EXPECT_TRUE(verify_programs(unroll(mixed_ages, shape, 1), of_steps(shape, 1)).is_proved());
    EXPECT_FALSE(verify_programs(unroll(mixed_ages, shape, 3), of_steps(shape, 3)).is_proved());
}

struct Trial {
    std::string name;
    PipelineShape shape;  // of one step
    Phases phases;
};

// Expects the same verdict and the same proof for every number of steps from count_representative_steps() on.
void expect_steady_verdict(const Trial& trial) {
    const auto verdict_on = [&](int steps) {
        return verify_programs(unroll(trial.phases, trial.shape, steps), of_steps(trial.shape, steps));
    };
    const int enough = count_representative_steps(trial.phases, trial.shape.microbatches);
    const Verdict verdict = verdict_on(enough);
    for (const int more : {1, 2, 5}) {
        const Verdict later = verdict_on(enough + more);
        ASSERT_EQ(later.is_proved(), verdict.is_proved())
            << trial.name << ", " << enough << " and " << enough + more
            << " steps: " << (verdict.fault ? verdict.fault->what : later.fault->what) << "\n";
        EXPECT_EQ(later.proof.peak_activations, verdict.proof.peak_activations) << trial.name;
        EXPECT_EQ(later.proof.peak_gradients, verdict.proof.peak_gradients) << trial.name;
        EXPECT_EQ(later.proof.weight_versions, verdict.proof.weight_versions) << trial.name;
    }
}

std::vector<Trial> trials() {
    std::vector<Trial> all;
    for (const Schedule& each : list_schedules()) {
        const std::string schedule = each.name;
        for (const int pipe : {1, 2, 3, 4}) {
            for (const int microbatches : {1, 2, 3}) {
                for (const int slots : {1, 2, 5}) {
                    const Schedule kind = require_schedule(schedule);
                    PipelineShape shape = kind == require_schedule("zb-v")
                                              ? make_v_shape(pipe, 1, microbatches)
                                              : make_grid_shape(pipe, 1, 1, microbatches);
                    if (kind == require_schedule("pipedream-2bw") && microbatches < pipe - 1) continue;
                    shape.slots = slots;
                    shape = apply_update_rule(kind, shape);
                    all.push_back(
                        {cat(schedule, " pipe ", pipe, " micro-batches ", microbatches, " slots ", slots),
                         shape, lower_phases(generate_phases(kind, shape), shape)});
                }
            }
        }
    }
    return all;
}

TEST(RepresentativeSteps, GiveTheVerdictOfMoreStepsForEverySchedule) {
    for (const Trial& trial : trials()) expect_steady_verdict(trial);
}

TEST(RepresentativeSteps, GiveTheVerdictOfMoreStepsForDamagedPhases) {
    const std::vector<Trial> all = trials();
    constexpr std::size_t cases = 3000;
    std::size_t proved = 0;
    for (std::size_t i = 0; i < cases && !testing::Test::HasFailure(); ++i) {
        Draw draw(RandomKey{20260412}.then("phases").then(i));
        Trial trial = all[draw.below(all.size())];
        std::vector<Program>& part = draw.one_in(3) ? trial.phases.prologue : trial.phases.body;
        const bool is_empty = std::all_of(part.begin(), part.end(), [](const Program& p) { return p.empty(); });
        if (is_empty) continue;
        trial.name += ": " + damage_once(part, of_steps(trial.shape, 3), draw);
        for (std::size_t team = 0; team < part.size(); ++team) {
            trial.name +=
                "\n" + to_string(trial.phases.prologue[team]) + " BODY " + to_string(trial.phases.body[team]);
        }
        expect_steady_verdict(trial);
        const int enough = count_representative_steps(trial.phases, trial.shape.microbatches);
        proved += verify_programs(unroll(trial.phases, trial.shape, enough), of_steps(trial.shape, enough))
                          .is_proved()
                      ? 1
                      : 0;
    }
    EXPECT_GT(proved, cases / 15);
}

}  // namespace
}  // namespace trireme::schedule
