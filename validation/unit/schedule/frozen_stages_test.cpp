// Tests pipelines whose first stages are frozen. These stages only run forward.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/schedule/check.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/step_buffers.hpp"
#include "unit/schedule/every_shape.hpp"
#include "unit/schedule/exhaustive_interpreter.hpp"
#include "unit/schedule/program_damage.hpp"
#include "unit/schedule/programs_as_text.hpp"

namespace trireme::schedule {
namespace {

using Texts = std::vector<std::string>;

constexpr RandomKey frozen_seed{20261130};
constexpr int drawn_rounds = 10;             // with other numbers of micro-batches
constexpr std::size_t max_states = 100'000;  // of programs that the exhaustive interpreter executes

PipelineShape freeze_before(PipelineShape shape, int first_trained_stage) {
    shape.first_trained_stage = first_trained_stage;
    return shape;
}

// Returns grids of one and two chunks, V shapes, and shapes with unequal replicas, with random numbers of
// micro-batches.
std::vector<PipelineShape> draw_trained_shapes(Draw& draw) {
    std::vector<PipelineShape> shapes;
    for (int pipe = 1; pipe <= 4; ++pipe) {
        for (int replicas = 1; replicas <= 2; ++replicas) {
            for (int chunks = 1; chunks <= 2; ++chunks)
                shapes.push_back(make_grid_shape(pipe, replicas, chunks, draw.within(1, 6)));
            if (pipe > 1) shapes.push_back(make_v_shape(pipe, replicas, draw.within(1, 6)));
        }
    }
    for (const std::vector<int>& replicas : std::vector<std::vector<int>>{
             {2, 1}, {1, 2}, {1, 2, 1}, {2, 1, 2}, {3, 3, 2}, {1, 3, 2}, {2, 1, 1, 3}})
        shapes.push_back(make_uneven_shape(replicas, draw.within(1, 9)));
    return shapes;
}

// Calls `visit` with each number of frozen stages.
template <class Visit>
void visit_each_first_trained_stage(const Schedule& schedule, const PipelineShape& shape, const Visit& visit) {
    for (int stage = 1; stage < shape.stages(); ++stage) {
        const PipelineShape frozen = apply_update_rule(schedule, freeze_before(shape, stage));
        SCOPED_TRACE(cat(schedule.name, ", ", stage, " frozen stages, ", frozen.teams, " teams, ",
                         describe_uneven_shape(frozen)));
        visit(frozen);
    }
}

// Calls `visit` for each drawn shape that the schedule takes, with each number of frozen stages.
template <class Visit>
void for_each_frozen_shape(const Schedule& schedule, Draw& draw, const Visit& visit) {
    for (int round = 0; round < drawn_rounds; ++round) {
        for (const PipelineShape& shape : draw_trained_shapes(draw)) {
            if (find_phases_obstacle(schedule, shape).empty())
                visit_each_first_trained_stage(schedule, shape, visit);
        }
    }
}

// Returns a number of slots with which no channel lacks a slot. No team of the drawn shapes has more than two
// stages.
int count_enough_slots(const PipelineShape& shape) { return 2 * shape.microbatches + shape.stages(); }

PipelineShape set_slots(PipelineShape shape, int slots) {
    shape.slots = slots;
    return shape;
}

struct UnrolledPrograms {
    PipelineShape shape;
    std::vector<Program> programs;
};

UnrolledPrograms unroll_representative(const Phases& phases, PipelineShape shape) {
    const int steps = count_representative_steps(phases, shape.microbatches);
    std::vector<Program> programs = unroll(phases, shape, steps);
    shape.steps = steps;
    return {shape, programs};
}

// Returns why the phases cannot be lowered, or why the lowered programs are not correct; empty if they are.
std::string find_fault_of_frozen(const Phases& compute, const PipelineShape& shape) {
    if (std::string obstacle = find_lowering_obstacle(compute, shape); !obstacle.empty()) return obstacle;
    const UnrolledPrograms unrolled = unroll_representative(lower_phases(compute, shape), shape);
    return verify_programs(unrolled.programs, unrolled.shape).fault.value_or(Fault{}).what;
}

// True for the training of a frozen stage, and for the send of a gradient to a frozen stage.
bool is_frozen_work(const Instruction& instruction, const PipelineShape& shape) {
    const Op op = instruction.op;
    const bool is_forward = op == Op::forward || op == Op::send_forward || op == Op::receive_forward;
    if (is_forward || !has_stage(op)) return false;
    return instruction.stage < shape.first_trained_stage + (op == Op::send_backward ? 1 : 0);
}

void expect_no_frozen_work(const std::vector<Program>& programs, const PipelineShape& shape) {
    for (const Program& program : programs) {
        EXPECT_TRUE(std::ranges::none_of(program, [&](const Instruction& i) {
            return is_frozen_work(i, shape);
        })) << to_string(program);
    }
}

// Returns the passes of a program. The passes of frozen stages have age 0, and only forwards.
std::vector<Program> extract_passes(const std::vector<Program>& programs, const PipelineShape& shape) {
    std::vector<Program> passes = extract_compute(programs);
    for (Program& program : passes) {
        std::erase_if(program, [&](const Instruction& i) { return is_frozen_work(i, shape); });
        for (Instruction& pass : program) pass.age = shape.trains(pass.stage) ? pass.age : 0;
    }
    return passes;
}

void expect_equal_proofs(const Proof& proof, const Proof& counted) {
    EXPECT_EQ(proof.peak_activations, counted.peak_activations);
    EXPECT_EQ(proof.peak_activations_of_stage, counted.peak_activations_of_stage);
    EXPECT_EQ(proof.peak_gradients, counted.peak_gradients);
    EXPECT_EQ(proof.weight_versions, counted.weight_versions);
}

// Returns true if the programs are small enough for the exhaustive interpreter, which must then accept them.
bool expect_acceptance(const UnrolledPrograms& unrolled, const Proof& proof) {
    std::size_t states = 1;
    for (const Program& program : unrolled.programs) {
        states *= program.size() + 1;
        if (states > max_states) return false;
    }
    const Exploration exploration = explore(unrolled.programs, unrolled.shape);
    EXPECT_EQ(exploration.objection, "");
    expect_equal_proofs(proof, exploration.proof);
    return true;
}

void expect_no_gradient_buffers(const UnrolledPrograms& unrolled) {
    const auto [shape, programs] = unrolled;
    for (int team = 0; team < shape.teams; ++team) {
        for (const BufferUse& use : list_buffer_uses(programs[static_cast<std::size_t>(team)], team, shape)) {
            const bool is_gradient = use.kind == BufferKind::rows && use.taker.op != Op::receive_forward;
            EXPECT_TRUE(!is_gradient || use.taker.stage >= shape.first_trained_stage);
            EXPECT_TRUE(!is_gradient || use.taker.op == Op::receive_backward ||
                        use.taker.stage > shape.first_trained_stage);
        }
    }
}

// Expects that the lowered phases are correct. Returns true if the exhaustive interpreter has accepted them.
bool expect_proof(const Phases& compute, const PipelineShape& shape) {
    EXPECT_EQ(find_lowering_obstacle(compute, shape), "");
    const UnrolledPrograms unrolled = unroll_representative(lower_phases(compute, shape), shape);
    const Verdict verdict = verify_programs(unrolled.programs, unrolled.shape);
    EXPECT_EQ(verdict.fault.value_or(Fault{}).what, "");
    expect_no_frozen_work(unrolled.programs, shape);
    expect_no_gradient_buffers(unrolled);
    return expect_acceptance(unrolled, verdict.proof);
}

class FrozenSchedule : public testing::TestWithParam<Schedule> {};

TEST_P(FrozenSchedule, IsProvedWithoutTheWorkOfFrozenStages) {
    const Schedule& schedule = GetParam();
    Draw draw(frozen_seed.then(schedule.name));
    int explored = 0;
    for_each_frozen_shape(schedule, draw, [&](PipelineShape shape) {
        shape.has_tied_embeddings = draw.one_in(4);
        const Phases all_work = generate_phases(schedule, shape);

        const Phases compute = remove_frozen_work(all_work, shape);

        shape.slots = count_enough_slots(shape);
        explored += expect_proof(compute, shape) ? 1 : 0;
        const Phases lowered = lower_phases(compute, shape);
        const int steps = count_representative_steps(all_work, shape.microbatches);
        EXPECT_EQ(extract_compute(unroll(lowered, shape, steps)),
                  extract_passes(unroll(all_work, shape, steps), shape));
    });
    EXPECT_GT(explored, 10);
}

TEST_P(FrozenSchedule, NeedsNoMoreSlotsThanIfAllStagesAreTrained) {
    const Schedule& schedule = GetParam();
    Draw draw(frozen_seed.then(schedule.name).then("slots"));
    int proved = 0;
    for_each_frozen_shape(schedule, draw, [&](PipelineShape shape) {
        shape.slots = draw.within(1, 3);
        const Phases all_work = generate_phases(schedule, shape);
        if (!find_fault_of_frozen(all_work, freeze_before(shape, 0)).empty()) return;
        expect_proof(remove_frozen_work(all_work, shape), shape);
        ++proved;
    });
    EXPECT_GT(proved, 50);
}

// The costs of the frozen stages include backward passes and updates, which take no time.
TEST_P(FrozenSchedule, TakesTheTimeOfItsInstructions) {
    const Schedule& schedule = GetParam();
    if (schedule.stashes_weights) GTEST_SKIP() << "StepClock predicts synchronous steps";
    Draw draw(frozen_seed.then(schedule.name).then("time"));
    for_each_frozen_shape(schedule, draw, [&](PipelineShape shape) {
        shape.slots = count_enough_slots(shape);
        const Phases phases = lower_phases(remove_frozen_work(generate_phases(schedule, shape), shape), shape);
        std::vector<StageCost> costs;
        for (int stage = 0; stage < shape.stages(); ++stage) {
            const auto draw_time = [&] { return static_cast<double>(draw.within(1, 9)); };
            costs.push_back({draw_time(), draw_time(), draw_time()});
            costs.back().send = draw_time();
            costs.back().reduce = draw_time();
            costs.back().step = draw_time();
        }

        const double seconds = StepClock(phases, shape).predict_seconds(costs);

        EXPECT_EQ(seconds, predict_step(phases, shape, costs).seconds);
    });
}

INSTANTIATE_TEST_SUITE_P(EverySchedule, FrozenSchedule, testing::ValuesIn(list_schedules()),
                         [](const auto& each) {
                             std::string name(each.param.name);
                             std::erase(name, '-');
                             return name;
                         });

TEST(FrozenStages, OnlyRunForward) {
    const PipelineShape shape = freeze_before(make_grid_shape(3, 1, 1, 2), 1);
    const auto lower_schedule = [&](const char* name) {
        return lower_phases(remove_frozen_work(generate_phases(require_schedule(name), shape), shape), shape);
    };

    EXPECT_EQ(texts_of(lower_schedule("1f1b").body),
              (Texts{"0F0 0SEND_F0 0F1 0SEND_F1",
                     "1RECV_F0 1RECV_B0 1F0 1SEND_F0 1RECV_F1 1F1 1SEND_F1 1B0 1RECV_B1 1B1 REDUCE1 STEP1",
                     "2RECV_F0 2F0 2RECV_F1 2B0 2SEND_B0 2F1 2B1 2SEND_B1 REDUCE2 STEP2"}));
    EXPECT_EQ(to_string(lower_schedule("pipedream-2bw").prologue[0]), "0F0 0SEND_F0 0F1 0SEND_F1");
    EXPECT_EQ(to_string(lower_schedule("pipedream-2bw").body[0]), "0F2 0SEND_F2 0F3 0SEND_F3");
}

TEST(FrozenStages, MakeProgramsWithValidatesSynchronous) {
    int count = 0;
    for (const Schedule& schedule : list_schedules()) {
        Draw draw(frozen_seed.then(schedule.name).then("validates"));
        for_each_frozen_shape(schedule, draw, [&](const PipelineShape& frozen) {
            const PipelineShape trained =
                set_slots(apply_update_rule(schedule, freeze_before(frozen, 0)), count_enough_slots(frozen));
            if (!trained.has_speculative_updates) return;
            const PipelineShape shape = set_slots(frozen, trained.slots);
            const std::vector<Program> expected = extract_passes(generate_phases(schedule, shape).body, shape);
            const Phases validated = generate_phases(schedule, trained);
            for (const Phases& phases : {validated, lower_phases(validated, trained)}) {
                const Phases synchronous = remove_frozen_work(phases, shape);

                EXPECT_FALSE(keeps_work_in_flight(synchronous, shape.microbatches));
                EXPECT_EQ(extract_compute(synchronous.body), expected);
                expect_proof(synchronous, shape);
                ++count;
            }
        });
    }
    EXPECT_GT(count, 50);
}

TEST(FrozenStages, KeepTheClocksOfProgramsWithValidates) {
    const PipelineShape shape = freeze_before(make_grid_shape(2, 1, 1, 2), 1);
    const Phases validated{.prologue = programs_of({"CLOCK900 0F0", ""}),
                           .body = programs_of({"CLOCK800 0F1 0B0 0B1 REDUCE0 STEP0 CLOCK700 0F2 VALIDATE0",
                                                "CLOCK600 1F0 1B0 1F1 1I1 1W1 REDUCE1 STEP1 VALIDATE1"})};

    const Phases synchronous = remove_frozen_work(validated, shape);

    EXPECT_EQ(texts_of(synchronous.prologue), (Texts{"", ""}));
    EXPECT_EQ(texts_of(synchronous.body),
              (Texts{"CLOCK700 0F0 CLOCK800 0F1", "CLOCK600 1F0 1B0 1F1 1I1 1W1 REDUCE1 STEP1"}));
    EXPECT_EQ(find_fault_of_frozen(synchronous, shape), "");
}

// A file may repeat a micro-batch of the current step where one of the next step must stand.
TEST(FrozenStages, ReportFaultyProgramsWithValidates) {
    const PipelineShape shape = freeze_before(make_grid_shape(2, 1, 1, 2), 1);
    const Phases validated{.prologue = programs_of({"0F0", ""}),
                           .body = programs_of({"0F1 0B0 0B1 REDUCE0 STEP0 0F0 VALIDATE0",
                                                "1F0 1B0 1F1 1B1 REDUCE1 STEP1 VALIDATE1"})};

    EXPECT_EQ(find_fault_of_frozen(remove_frozen_work(validated, shape), shape),
              "0F-2, the 1st instruction of team 0, names micro-batch -2, but the last micro-batch is 1");
}

TEST(FrozenStages, ChangeNothingIfThereAreNone) {
    const PipelineShape shape = apply_update_rule(require_schedule("zb-h1"), make_grid_shape(3, 1, 1, 4));
    const Phases phases = generate_phases(require_schedule("zb-h1"), shape);

    const Phases result = remove_frozen_work(phases, shape);

    EXPECT_EQ(result.prologue, phases.prologue);
    EXPECT_EQ(result.body, phases.body);
}

}  // namespace
}  // namespace trireme::schedule
