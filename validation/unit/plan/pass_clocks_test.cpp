#include "trireme/plan/pass_clocks.hpp"

#include <gtest/gtest.h>

#include <random>

#include "trireme/schedule/clocks.hpp"
#include "unit/plan/small_layouts.hpp"

namespace trireme::plan {
namespace {

std::string refusal(const PassClocks& clocks, Plan plan) {
    return validation::catch_message<ConfigError>([&] { set_pass_clocks(clocks, plan); });
}

ReplicaClocks parse(const char* text) { return parse_replica_clocks(text).value(); }

TEST(PassClocks, AreReadBackFromTheirText) {
    EXPECT_EQ(parse("1530 14*900 1530"), (ReplicaClocks{{1, 1530}, {14, 900}, {1, 1530}}));
    EXPECT_EQ(to_string(parse("1530 14*900 1530")), "1530 14*900 1530");
    EXPECT_EQ(to_string(parse("1*990 2*990")), "990 2*990");
    EXPECT_TRUE(parse("").empty());
}

TEST(PassClocks, AreOnlyReadFromPositiveNumbers) {
    for (const char* const text : {" ", "900 ", "900  900", "0", "0*900", "2*0", "*900", "2*", "2*3*900", "-1",
                                   "9e2", "fast", "1000000001", "99999999999999999999*900"})
        EXPECT_FALSE(parse_replica_clocks(text)) << text;
}

// The schedules have prologues, several stages per team, split backward passes and speculative updates. With
// three replicas and four micro-batches, replicas execute different numbers of passes.
TEST(PassClocks, AreTakenFromAPlanAndSetInAnother) {
    struct Case {
        const char* schedule;
        layout::Layout layout;
    };
    const Case cases[] = {{"1f1b", even_grid({.pipe = 3, .data = 2})},
                          {"pipedream", even_grid({.pipe = 3})},
                          {"interleaved", even_grid({.pipe = 2, .data = 2, .chunks = 2})},
                          {"zb-h1", even_grid({.pipe = 3})},
                          {"1f1b", uneven_layout({3, 1, 2})}};
    std::mt19937 random(7);
    for (const auto& [schedule, layout] : cases) {
        SCOPED_TRACE(schedule);
        const Plan plain = make_plan({.layout = layout, .schedule = schedule, .microbatches = 4});
        EXPECT_TRUE(list_pass_clocks(plain).empty());
        Plan plan = plain;
        const schedule::Phases phases =
            set_clocks(plan.training.phases(), [&](int, const auto&) { return 300 * (1 + int(random() % 3)); });
        plan.training.prologue = phases.prologue;
        plan.training.programs = phases.body;

        Plan other = plain;
        set_pass_clocks(list_pass_clocks(plan), other);

        EXPECT_EQ(other.training.prologue, plan.training.prologue);
        EXPECT_EQ(other.training.programs, plan.training.programs);
        EXPECT_EQ(compute_hash(other), compute_hash(plan));
        EXPECT_NE(compute_hash(other), compute_hash(plain));
    }
}

TEST(PassClocks, AreGivenOncePerStageIfReplicasAreEqual) {
    Plan plan = make_plan({.layout = even_grid({.pipe = 2, .data = 2}), .microbatches = 2});

    set_pass_clocks({{parse("4*900")}, {parse("900 3*600"), parse("4*600")}}, plan);

    EXPECT_EQ(list_pass_clocks(plan), (PassClocks{{parse("4*900")}, {parse("900 3*600"), parse("4*600")}}));

    set_pass_clocks({{parse("4*600")}, {parse("4*600")}}, plan);
    EXPECT_EQ(list_pass_clocks(plan), (PassClocks{{parse("4*600")}, {parse("4*600")}}));
}

TEST(PassClocks, AreRejectedIfTheirNumberIsWrong) {
    const Plan plan = make_plan({.layout = even_grid({.pipe = 2, .data = 3}), .microbatches = 2});
    const std::vector<ReplicaClocks> right{parse("4*900")};

    EXPECT_EQ(refusal({right}, plan),
              "\"clocks\" is given for 1 stage, but the layout has 2; give one entry per stage");
    EXPECT_EQ(
        refusal({right, {parse("4*900"), parse("4*900")}}, plan),
        "\"clocks\" has 2 texts for stage 1, which has 3 replicas; give one text, or one text per replica");
    EXPECT_EQ(
        refusal({right, {parse("4*900"), parse("900 4*600"), parse("4*900")}}, plan),
        "\"clocks\" has 5 clocks for stage 1, but the number of passes that replica 1 of this stage executes "
        "in a step is 4; give one clock per pass");
}

}  // namespace
}  // namespace trireme::plan
