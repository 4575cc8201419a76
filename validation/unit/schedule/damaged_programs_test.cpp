#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "unit/schedule/exhaustive_interpreter.hpp"
#include "unit/schedule/program_damage.hpp"
#include "unit/schedule/sound_programs.hpp"

namespace trireme::schedule {
namespace {

constexpr RandomKey seed{20260411};
constexpr std::size_t cases_of_a_family = 2500;

// Describes a shape and its programs for the message of a failure.
std::string drawn(const PipelineShape& shape, const std::vector<Program>& programs) {
    std::string text =
        cat(shape.slots, " slots, ", shape.steps, " steps of ", shape.microbatches, " micro-batches");
    for (const int most : shape.max_activations) text += cat(", at most ", most, " kept");
    if (shape.first_trained_stage > 0) text += cat(", ", shape.first_trained_stage, " frozen stages");
    text += shape.updates_stages_independently ? ", each stage updated alone" : ", stages updated together";
    text += cat(shape.has_speculative_updates ? ", validated" : "",
                shape.has_tied_embeddings ? ", ends tied\n" : "\n");
    for (std::size_t stage = 0; stage < shape.executor.size(); ++stage) {
        text += "stage " + std::to_string(stage) + " is executed by";
        for (const int team : shape.executor[stage]) text += " " + std::to_string(team);
        text += "\n";
    }
    for (const Program& program : programs) text += to_string(program) + "\n";
    return text;
}

struct DamagedCase {
    std::string story;
    PipelineShape shape;
    std::vector<Program> programs;
};

DamagedCase damaged_case(const std::vector<Subject>& subjects, Draw draw) {
    const Subject& subject = subjects[draw.below(subjects.size())];
    DamagedCase result{subject.name, subject.shape, draw_sound_programs(subject, draw)};
    const Verdict before = verify_programs(result.programs, result.shape);
    EXPECT_TRUE(before.is_proved()) << before.fault->what << "\n"
                                    << subject.name << "\n"
                                    << drawn(result.shape, result.programs);
    if (before.is_proved() && draw.one_in(4)) {
        result.shape.max_activations = before.proof.peak_activations;
    }
    if (!result.shape.has_speculative_updates && draw.one_in(8))
        result.shape.updates_stages_independently = !result.shape.updates_stages_independently;
    if (draw.one_in(4)) result.shape.has_tied_embeddings = true;
    result.story += ": " + damage_once(result.programs, result.shape, draw);
    const bool is_empty = std::all_of(result.programs.begin(), result.programs.end(),
                                      [](const Program& program) { return program.empty(); });
    if (draw.one_in(4) && !is_empty) {
        result.story += ", then " + damage_once(result.programs, result.shape, draw);
    }
    return result;
}

std::set<std::string> split_words(const std::string& text) {
    std::set<std::string> words;
    std::string word;
    for (const char c : text + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '@') {
            word += c;
        } else if (!word.empty()) {
            words.insert(std::exchange(word, ""));
        }
    }
    return words;
}

bool is_instruction(const std::string& word) {
    try {
        parse_instruction(word, "a fault");
        return true;
    } catch (const ConfigError&) {
        return false;
    }
}

void expect_to_name_an_instruction(const Fault& fault, const std::vector<Program>& programs) {
    ASSERT_GE(fault.team, 0);
    ASSERT_LT(static_cast<std::size_t>(fault.team), programs.size());
    const Program& program = programs[static_cast<std::size_t>(fault.team)];
    ASSERT_LE(fault.position, program.size());
    const std::set<std::string> words = split_words(fault.what);
    if (fault.position < program.size()) {
        EXPECT_TRUE(words.contains(to_string(program[fault.position]))) << fault.what;
    } else {
        EXPECT_TRUE(std::any_of(words.begin(), words.end(), is_instruction)) << fault.what;
    }
}

void expect_equal(const Proof& proof, const Proof& counted) {
    EXPECT_EQ(proof.peak_activations, counted.peak_activations);
    EXPECT_EQ(proof.peak_activations_of_stage, counted.peak_activations_of_stage);
    EXPECT_EQ(proof.peak_gradients, counted.peak_gradients);
    EXPECT_EQ(proof.weight_versions, counted.weight_versions);
}

struct Count {
    std::size_t accepted = 0;
    std::size_t rejected_as_written = 0;
    std::size_t rejected_when_run = 0;
};

void judge(const DamagedCase& damaged, Count& count) {
    const Exploration exploration = explore(damaged.programs, damaged.shape);
    const Verdict verdict = verify_programs(damaged.programs, damaged.shape);
    SCOPED_TRACE(damaged.story + "\n" + drawn(damaged.shape, damaged.programs));
    EXPECT_EQ(verdict.is_proved(), exploration.is_accepted())
        << "check: " << (verdict.fault ? verdict.fault->what : "proved") << "\n"
        << "interpreter: " << (exploration.is_accepted() ? "accepted" : exploration.objection);
    if (verdict.fault) expect_to_name_an_instruction(*verdict.fault, damaged.programs);
    if (verdict.is_proved() && exploration.is_accepted()) {
        expect_equal(verdict.proof, exploration.proof);
        ++count.accepted;
    } else if (exploration.states == 0) {
        ++count.rejected_as_written;
    } else {
        ++count.rejected_when_run;
    }
}

// Stops at the first case that fails, because its text says everything.
void judge_damaged(const std::vector<Subject>& subjects, std::string_view family) {
    Count count;
    for (std::size_t i = 0; i < cases_of_a_family && !testing::Test::HasFailure(); ++i) {
        judge(damaged_case(subjects, Draw(seed.then(family).then(i))), count);
    }
    testing::Test::RecordProperty("accepted", std::to_string(count.accepted));
    testing::Test::RecordProperty("rejected_as_written", std::to_string(count.rejected_as_written));
    testing::Test::RecordProperty("rejected_when_run", std::to_string(count.rejected_when_run));
    const std::size_t enough = cases_of_a_family / 15;
    EXPECT_GT(count.accepted, enough);
    EXPECT_GT(count.rejected_as_written, enough);
    EXPECT_GT(count.rejected_when_run, enough);
}

TEST(DamagedProgramCheck, MatchesTheInterpreterOnOneRow) { judge_damaged(one_row(), "one row"); }

TEST(DamagedProgramCheck, MatchesTheInterpreterOnTwoRows) { judge_damaged(two_rows(), "two rows"); }

TEST(DamagedProgramCheck, MatchesTheInterpreterOnUnevenStages) {
    judge_damaged(uneven_stages(), "uneven stages");
}

TEST(DamagedProgramCheck, MatchesTheInterpreterOnForwardOnlyPrograms) {
    judge_damaged(forward_only_subjects(), "forwards alone");
}

TEST(DamagedProgramCheck, MatchesTheInterpreterOverTwoSteps) { judge_damaged(two_steps(), "two steps"); }

TEST(DamagedProgramCheck, MatchesTheInterpreterWithWorkInFlightOverTwoSteps) {
    judge_damaged(work_in_flight(2), "in flight 2");
}

TEST(DamagedProgramCheck, MatchesTheInterpreterWithWorkInFlightOverThreeSteps) {
    judge_damaged(work_in_flight(3), "in flight 3");
}

TEST(DamagedProgramCheck, MatchesTheInterpreterWithFrozenStages) {
    judge_damaged(with_frozen_stages(1), "frozen 1");
}

TEST(DamagedProgramCheck, MatchesTheInterpreterWithFrozenStagesOverTwoSteps) {
    judge_damaged(with_frozen_stages(2), "frozen 2");
}

TEST(DamagedProgramCheck, MatchesTheInterpreterOnTwoStepsOfValidatedUpdates) {
    judge_damaged(validated(2), "validated 2");
}

TEST(DamagedProgramCheck, MatchesTheInterpreterOnThreeStepsOfValidatedUpdates) {
    judge_damaged(validated(3), "validated 3");
}

std::vector<std::vector<Subject>> all_families() {
    return {one_row(),
            two_rows(),
            uneven_stages(),
            forward_only_subjects(),
            two_steps(),
            work_in_flight(2),
            work_in_flight(3),
            validated(2),
            validated(3),
            with_frozen_stages(1),
            with_frozen_stages(2)};
}

TEST(SoundPrograms, AreProvedByCheckAndAcceptedByTheInterpreter) {
    for (const auto& subjects : all_families()) {
        for (const Subject& subject : subjects) {
            Draw draw(seed.then("sound").then(subject.name));
            const std::vector<Program> programs = draw_sound_programs(subject, draw);
            SCOPED_TRACE(subject.name + "\n" + drawn(subject.shape, programs));

            const Exploration exploration = explore(programs, subject.shape);
            const Verdict verdict = verify_programs(programs, subject.shape);

            EXPECT_TRUE(verdict.is_proved()) << verdict.fault->what;
            EXPECT_TRUE(exploration.is_accepted()) << exploration.objection;
            expect_equal(verdict.proof, exploration.proof);
        }
    }
}

template <class IsWanted>
bool has(const std::vector<Subject>& subjects, const IsWanted& is_wanted) {
    return std::any_of(subjects.begin(), subjects.end(), is_wanted);
}

TEST(SoundPrograms, CoverEverySchedule) {
    const std::vector<std::vector<Subject>> with_all_schedules = {
        one_row(), two_rows(), forward_only_subjects(), with_frozen_stages(1), with_frozen_stages(2)};
    const std::vector<Subject> apart = two_steps();
    const std::vector<std::vector<Subject>> in_flight = {work_in_flight(2), work_in_flight(3)};
    for (const Schedule& each : list_schedules()) {
        const std::string schedule = each.name;
        const auto is_of_it = [&](const Subject& subject) { return subject.name.ends_with(" " + schedule); };
        const bool is_in_flight = require_schedule(schedule).stashes_weights;
        for (const auto& subjects : with_all_schedules) EXPECT_TRUE(has(subjects, is_of_it)) << schedule;
        EXPECT_EQ(has(apart, is_of_it), !is_in_flight) << schedule;
        for (const auto& subjects : in_flight) EXPECT_EQ(has(subjects, is_of_it), is_in_flight) << schedule;
    }
}

TEST(SoundPrograms, CoverIrregularShapes) {
    for (const auto& subjects : {uneven_stages(), forward_only_subjects(), two_steps(), work_in_flight(2),
                                 work_in_flight(3), with_frozen_stages(1), with_frozen_stages(2)}) {
        for (const char* name : {"there and back", "crossed over"}) {
            EXPECT_TRUE(has(subjects, [&](const Subject& subject) {
                return subject.name.find(name) != std::string::npos;
            }));
        }
    }
}

// All orders of execution reach the same end, so that one order proves all of them.
TEST(Programs, ReachTheSameEndStateInEveryExecutionOrder) {
    std::size_t finished = 0;
    std::size_t stuck = 0;
    for (const auto& subjects : all_families()) {
        for (std::size_t i = 0; i < 400; ++i) {
            const DamagedCase damaged = damaged_case(subjects, Draw(seed.then("orders").then(i)));

            const Exploration exploration = explore(damaged.programs, damaged.shape);

            if (exploration.states == 0) continue;
            EXPECT_EQ(exploration.ends.size(), 1U) << damaged.story << "\n"
                                                   << drawn(damaged.shape, damaged.programs);
            ++(exploration.is_accepted() ? finished : stuck);
        }
    }
    EXPECT_GT(finished, 200U);
    EXPECT_GT(stuck, 200U);
}

}  // namespace
}  // namespace trireme::schedule
