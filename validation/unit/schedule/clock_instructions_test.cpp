// Tests that CLOCKs change neither the verdict on programs nor their messages.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "trireme/schedule/check.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/schedule_text.hpp"
#include "unit/schedule/sound_programs.hpp"

namespace trireme::schedule {
namespace {

constexpr RandomKey clock_seed{20261130};

// Returns a program with random CLOCKs: where it needs one, and between other instructions.
Program insert_clocks(const Program& program, Draw& draw) {
    Program with_clocks;
    const auto add_clock = [&] {
        with_clocks.push_back({.op = Op::set_clock, .mhz = 90 * draw.within(9, 17)});
    };
    add_clock();
    for (const Instruction& instruction : program) {
        with_clocks.push_back(instruction);
        const bool needs_clock = instruction.op == Op::step || instruction.op == Op::validate;
        if (needs_clock || draw.one_in(3)) add_clock();
    }
    return with_clocks;
}

std::vector<Program> insert_clocks(const std::vector<Program>& programs, Draw& draw) {
    std::vector<Program> with_clocks;
    for (const Program& program : programs) with_clocks.push_back(insert_clocks(program, draw));
    return with_clocks;
}

std::vector<Program> remove_clocks(std::vector<Program> programs) {
    for (Program& program : programs)
        std::erase_if(program, [](const Instruction& each) { return each.op == Op::set_clock; });
    return programs;
}

std::string describe(const Verdict& verdict) { return verdict.fault ? verdict.fault->what : "proved"; }

// Calls `check` with drawn programs of every family of subjects.
void for_each_drawn(int draws, const std::function<void(const Subject&, Draw&)>& check) {
    int family = 0;
    for (const std::vector<Subject>& subjects :
         {one_row(), two_rows(), uneven_stages(), forward_only_subjects(), two_steps(), work_in_flight(4),
          validated(3)}) {
        ++family;
        for (int i = 0; i < draws; ++i) {
            Draw draw(clock_seed.then(static_cast<std::uint64_t>(family)).then(static_cast<std::uint64_t>(i)));
            check(subjects[draw.below(subjects.size())], draw);
        }
    }
}

TEST(ClockInstructions, NeverChangeTheVerdict) {
    int damaged = 0;
    for_each_drawn(300, [&](const Subject& subject, Draw& draw) {
        std::vector<Program> programs = draw_sound_programs(subject, draw);
        if (draw.one_in(2)) damage_once(programs, subject.shape, draw);
        const Verdict verdict = verify_programs(programs, subject.shape);
        damaged += verdict.is_proved() ? 0 : 1;

        const Verdict with_clocks = verify_programs(insert_clocks(programs, draw), subject.shape);

        ASSERT_EQ(with_clocks.is_proved(), verdict.is_proved())
            << subject.name << ": " << describe(with_clocks) << ", but without clocks: " << describe(verdict);
        EXPECT_EQ(with_clocks.proof.peak_activations, verdict.proof.peak_activations);
        EXPECT_EQ(with_clocks.proof.peak_gradients, verdict.proof.peak_gradients);
        EXPECT_EQ(with_clocks.proof.weight_versions, verdict.proof.weight_versions);
    });
    EXPECT_GT(damaged, 500);
}

TEST(ClockInstructions, NeverMoveAMessage) {
    for_each_drawn(100, [&](const Subject& subject, Draw& draw) {
        const std::vector<Program> compute = insert_clocks(subject.compute, draw);

        EXPECT_EQ(remove_clocks(lower(compute, subject.shape)), lower(subject.compute, subject.shape))
            << subject.name;
    });
}

TEST(ClockInstructions, StayInTheirStepIfStepsAreUnrolled) {
    const Phases phases = parse_phases_csv(
        "0F0,BODY,CLOCK900,0F1,0B0,0B1,REDUCE0,STEP0,CLOCK1530,0F2,VALIDATE0,CLOCK810\n", "here");
    const PipelineShape shape = make_grid_shape(1, 1, 1, 2);

    const std::vector<Program> programs = unroll(phases, shape, 2);

    EXPECT_EQ(to_string(programs[0]),
              "0F0 CLOCK900 0F1 0B0 0B1 REDUCE0 STEP0 CLOCK1530 0F2 VALIDATE0 CLOCK810 "
              "CLOCK900 0F3 0B2 0B3 REDUCE0 STEP0 CLOCK1530 VALIDATE0 CLOCK810");
}

std::string fault_of(const std::string& csv, int steps = 1) {
    PipelineShape shape = make_grid_shape(1, 1, 1, 2);
    shape.steps = steps;
    const Verdict verdict =
        verify_programs(lower(unroll(parse_phases_csv(csv, "here"), shape, steps), shape), shape);
    return verdict.fault ? verdict.fault->what : "";
}

TEST(ClockInstructions, StandBeforeTheFirstPassOfEachStep) {
    EXPECT_EQ(fault_of("CLOCK900,0F0,0F1,CLOCK1530,0B0,0B1,REDUCE0,STEP0\n", 3), "");
    EXPECT_NE(fault_of("0F0,CLOCK900,0F1,0B0,0B1\n").find("0F0, the 1st instruction of team 0, needs a CLOCK"),
              std::string::npos);
    EXPECT_NE(
        fault_of("CLOCK0,0F0,0F1,0B0,0B1\n").find("CLOCK0, the 1st instruction of team 0, sets a clock of 0"),
        std::string::npos);
}

}  // namespace
}  // namespace trireme::schedule
