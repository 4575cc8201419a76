#include "trireme/schedule/search.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>

#include "error_message.hpp"
#include "schedule/check/program_clock.hpp"
#include "schedule/search/min_duration.hpp"
#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/schedule/cost_sets.hpp"
#include "unit/schedule/drawn_costs.hpp"
#include "unit/schedule/exhaustive_interpreter.hpp"

namespace trireme::schedule {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

// Input of a search for programs.
struct Task {
    PipelineShape shape;
    std::vector<StageCost> costs;
    std::vector<bool> may_split;
};

Task task_of(const PipelineShape& shape, const std::vector<StageCost>& costs, bool may_split = true) {
    return {shape, costs, std::vector<bool>(costs.size(), may_split)};
}

std::vector<Program> searched(const Task& task) {
    return search_programs(task.shape, task.costs, task.may_split);
}

// Returns the makespan of compute instructions with enough slots, or `none` if verify_programs() rejects them,
// for example because they exceed a bound.
double duration(const std::vector<Program>& compute, const Task& task) {
    const PipelineShape shape = with_enough_slots(task.shape);
    const std::vector<Program> programs = lower(compute, shape);
    return verify_programs(programs, shape).is_proved() ? predict(programs, shape, task.costs).makespan : none;
}

bool splits_what_it_must_not(const std::vector<Program>& programs, const Task& task) {
    for (const Program& program : programs) {
        for (const Instruction& each : program) {
            if (each.op == Op::backward_input && !task.may_split[static_cast<std::size_t>(each.stage)])
                return true;
        }
    }
    return false;
}

// Returns the shortest makespan of all fixed one-step schedules that are made for the shape and keep its
// bounds.
double shortest_of_fixed(const Task& task) {
    double shortest = none;
    for (const Schedule& each : list_schedules()) {
        const std::string schedule = each.name;
        const Schedule kind = require_schedule(schedule);
        if (kind.stashes_weights) continue;
        try {
            const std::vector<Program> programs = generate(kind, task.shape);
            if (!splits_what_it_must_not(programs, task))
                shortest = std::min(shortest, duration(programs, task));
        } catch (const ConfigError&) {
            continue;  // the schedule is made for other shapes
        }
    }
    return shortest;
}

// Returns the seconds of a step of these compute phases with enough slots in the steady state, or `none` if
// verify_programs() rejects them.
double seconds_of_step(const Phases& compute, const PipelineShape& of_task, const Task& task) {
    const PipelineShape shape = with_enough_slots(of_task);
    if (!find_lowering_obstacle(compute, shape).empty()) return none;
    const Phases phases = lower_phases(compute, shape);
    PipelineShape many = shape;
    many.steps = count_representative_steps(phases, shape.microbatches);
    if (!verify_programs(unroll(phases, shape, many.steps), many).is_proved()) return none;
    return predict_step(phases, shape, task.costs).seconds;
}

double shortest_step_of_fixed(const Task& task) {
    double shortest = none;
    for (const Schedule& each : list_schedules()) {
        const std::string schedule = each.name;
        const Schedule kind = require_schedule(schedule);
        if (kind.stashes_weights) continue;
        const PipelineShape shape = apply_update_rule(kind, task.shape);
        try {
            shortest = std::min(shortest, seconds_of_step(generate_phases(kind, shape), shape, task));
        } catch (const ConfigError&) {
            continue;  // the schedule is made for other shapes
        }
    }
    return shortest;
}

// Returns the seconds of the best step that a search finds, chosen as a plan chooses.
double shortest_step_found(const Task& task) {
    const std::vector<Program> found = searched(task);
    double shortest =
        seconds_of_step({.prologue = std::vector<Program>(found.size()), .body = found}, task.shape, task);
    PipelineShape ahead = task.shape;
    ahead.has_speculative_updates = true;
    for (const Phases& phases : make_speculative_programs(found, ahead, task.may_split)) {
        shortest = std::min(shortest, seconds_of_step(phases, ahead, task));
    }
    return shortest;
}

TEST(Search, IsNeverWorseThanFixedSchedulesAndOftenBetter) {
    int better = 0;
    const std::vector<CostSet> sets = cost_sets();
    for (const CostSet& set : sets) {
        const Task task = task_of(set.shape, set.costs);

        const double found = shortest_step_found(task);

        const double fixed = shortest_step_of_fixed(task);
        EXPECT_LT(found, none) << set.name;
        EXPECT_LE(found, fixed) << set.name;
        EXPECT_LE(duration(searched(task), task), shortest_of_fixed(task)) << set.name;
        better += fixed < none && found < fixed ? 1 : 0;
    }
    std::cout << "better than every fixed schedule on " << better << " of " << sets.size() << " cost sets\n";
    EXPECT_EQ(sets.size(), 30U);
    EXPECT_GE(better, 10);
}

PipelineShape drawn_shape(Draw& draw) {
    if (draw.one_in(5)) return make_v_shape(draw.within(1, 3), draw.within(1, 2), draw.within(1, 5));
    if (draw.one_in(2))
        return make_grid_shape(draw.within(1, 4), draw.within(1, 2), draw.within(1, 3), draw.within(1, 6));
    std::vector<int> replicas;
    for (int stages = draw.within(1, 4); stages > 0; --stages) replicas.push_back(draw.within(1, 3));
    return make_uneven_shape(replicas, draw.within(1, 7));
}

Task drawn_task(Draw& draw) {
    Task task{.shape = drawn_shape(draw), .costs = {}, .may_split = {}};
    task.costs = draw_costs(task.shape, draw);
    for (std::size_t stage = 0; stage < task.costs.size(); ++stage) task.may_split.push_back(!draw.one_in(4));
    if (draw.one_in(3)) return task;
    for (const int least : compute_min_activations(task.shape)) {
        task.shape.max_activations.push_back(least + draw.within(0, 3 * least));
    }
    return task;
}

TEST(Search, IsProvedNeverWorseAndReproducibleOnRandomShapes) {
    Draw draw(RandomKey{20261123}.then("search"));
    for (int i = 0; i < 40 && !testing::Test::HasFailure(); ++i) {
        const Task task = drawn_task(draw);

        const std::vector<Program> programs = searched(task);

        const double found = duration(programs, task);
        EXPECT_LT(found, none) << i;
        EXPECT_LE(found, shortest_of_fixed(task)) << i;
        const double least = compute_min_duration(task.shape, StageHoldings(task.shape), task.costs);
        EXPECT_GE(found, least * (1 - 1e-12)) << i;  // the two sums differ in their order
        EXPECT_FALSE(splits_what_it_must_not(programs, task)) << i;
        EXPECT_EQ(searched(task), programs) << i;
    }
}

TEST(Search, GetsTheSameVerdictFromCheckAndInterpreter) {
    Draw draw(RandomKey{20261124}.then("interpreter"));
    for (int i = 0; i < 40; ++i) {
        Task task = drawn_task(draw);
        if (task.shape.teams > 3 || task.shape.microbatches > 3 || task.shape.stages() > 4) continue;
        task.shape.slots = 2;
        const std::vector<Program> programs = lower(searched(task), task.shape);

        const Exploration exploration = explore(programs, task.shape);

        EXPECT_EQ(exploration.is_accepted(), verify_programs(programs, task.shape).is_proved())
            << exploration.objection;
    }
}

// Adds all orders in which a team may execute the three parts of its micro-batches.
void add_orders(const PipelineShape& shape, int stage, Program& begun, std::vector<int>& parts_done,
                std::vector<Program>& orders) {
    constexpr Op parts[] = {Op::forward, Op::backward_input, Op::backward_weight};
    bool is_complete = true;
    for (int m = 0; m < shape.microbatches; ++m) {
        int& done = parts_done[static_cast<std::size_t>(m)];
        if (done == 3) continue;
        is_complete = false;
        begun.push_back({parts[done++], stage, m});
        add_orders(shape, stage, begun, parts_done, orders);
        begun.pop_back();
        --done;
    }
    if (is_complete) orders.push_back(begun);
}

int peak_of(const Program& program) {
    int kept = 0;
    int peak = 0;
    for (const Instruction& each : program) {
        kept += each.op == Op::forward ? 1 : each.op == Op::backward_weight ? -1 : 0;
        peak = std::max(peak, kept);
    }
    return peak;
}

std::vector<Program> orders_of(const PipelineShape& shape, int stage) {
    Program begun;
    std::vector<int> parts_done(static_cast<std::size_t>(shape.microbatches));
    std::vector<Program> orders;
    add_orders(shape, stage, begun, parts_done, orders);
    std::erase_if(orders, [&](const Program& order) {
        const bool is_bounded = !shape.max_activations.empty();
        return is_bounded && peak_of(order) > shape.max_activations[static_cast<std::size_t>(stage)];
    });
    return orders;
}

double shortest_of_all_orders(const Task& task) {
    const StageHoldings holdings(task.shape);
    ProgramClock clock(task.shape, holdings, task.costs);
    std::vector<std::vector<Program>> orders;
    for (int stage = 0; stage < task.shape.stages(); ++stage) orders.push_back(orders_of(task.shape, stage));
    std::vector<std::size_t> chosen(orders.size());
    double shortest = none;
    for (std::size_t next = 0; next < chosen.size();) {
        std::vector<Program> programs;
        for (std::size_t s = 0; s < orders.size(); ++s) programs.push_back(orders[s][chosen[s]]);
        shortest = std::min(shortest, compute_duration(programs, clock));
        for (next = 0; next < chosen.size() && ++chosen[next] == orders[next].size(); ++next) chosen[next] = 0;
    }
    return shortest;
}

TEST(Search, FindsTheShortestOrderOfTwoMicrobatches) {
    Draw draw(RandomKey{20261125}.then("orders"));
    for (int i = 0; i < 40; ++i) {
        PipelineShape shape = make_grid_shape(draw.within(2, 3), 1, 1, 2);
        if (draw.one_in(3)) shape.max_activations.assign(static_cast<std::size_t>(shape.teams), 1);
        const Task task = task_of(shape, draw_costs(shape, draw, 1));  // integer costs, whose sums are exact

        EXPECT_EQ(duration(searched(task), task), shortest_of_all_orders(task)) << i;
    }
}

TEST(Search, ReturnsOneForwardOneBackwardIfNothingIsShorter) {
    const PipelineShape shape = make_grid_shape(4, 1, 1, 8);
    const Task unsplit = task_of(shape, std::vector<StageCost>(4), false);

    EXPECT_EQ(searched(unsplit), generate(require_schedule("1f1b"), shape));
}

// 16 teams need not keep all 128 micro-batches to stay busy from the first arrival to the last.
TEST(Search, KeepsNoMoreActivationsThanItNeeds) {
    const Task task = task_of(make_grid_shape(16, 1, 1, 128), std::vector<StageCost>(16, {2, 2, 2, 0.5}));
    const PipelineShape shape = with_enough_slots(task.shape);

    const std::vector<Program> found = lower(searched(task), shape);

    EXPECT_EQ(predict(found, shape, task.costs).makespan,
              compute_min_duration(shape, StageHoldings(shape), task.costs));
    EXPECT_LE(std::ranges::max(verify_programs(found, shape).proof.peak_activations), 31);
}

TEST(Search, HandlesUnevenShapesWithSeveralStagesPerTeam) {
    PipelineShape shape{.teams = 3, .microbatches = 4, .holders = {{0}, {1, 2}, {0}}, .executor = {}};
    shape.executor = {{0, 0, 0, 0}, {1, 2, 1, 2}, {0, 0, 0, 0}};
    shape.max_activations = {3, 1, 1};
    Task task = task_of(shape, std::vector<StageCost>(3));

    EXPECT_LE(duration(searched(task), task), 27);
    task.shape.is_training = false;
    task.shape.max_activations = {1, 1, 1};  // forward-only programs keep nothing
    EXPECT_LT(duration(searched(task), task), none);
}

TEST(Search, ReturnsAFixedScheduleForForwardOnlyRuns) {
    const PipelineShape shape = make_grid_shape(2, 2, 2, 5, false);

    EXPECT_EQ(searched(task_of(shape, std::vector<StageCost>(4))),
              generate(require_schedule("interleaved"), shape));
}

TEST(LeastActivations, AreOnePerStageThatAMicrobatchPassesInATeam) {
    PipelineShape woven{.teams = 2, .microbatches = 2, .holders = {{0, 1}, {0, 1}, {1}}, .executor = {}};
    woven.executor = {{0, 1}, {0, 1}, {1, 1}};

    EXPECT_EQ(compute_min_activations(make_grid_shape(2, 2, 3, 4)), (std::vector<int>{3, 3, 3, 3}));
    EXPECT_EQ(compute_min_activations(woven), (std::vector<int>{2, 3}));
}

TEST(Search, RejectsLessMemoryThanOneMicrobatchNeeds) {
    PipelineShape shape = make_grid_shape(2, 1, 2, 4);
    shape.max_activations = {2, 1};

    EXPECT_EQ(
        validation::catch_message<ConfigError>([&] { searched(task_of(shape, std::vector<StageCost>(4))); }),
        "team 1 needs memory for 2 in-flight micro-batches, summed over its stages, but has memory for 1; give "
        "the team more memory or fewer stages");
}

}  // namespace
}  // namespace trireme::schedule
