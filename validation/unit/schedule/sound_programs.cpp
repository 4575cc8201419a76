#include "unit/schedule/sound_programs.hpp"

#include <cstddef>
#include <iterator>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "unit/schedule/exhaustive_interpreter.hpp"

namespace trireme {
namespace {

using Subjects = std::vector<Subject>;

constexpr ScheduleKind kinds[] = {ScheduleKind::inter_layer, ScheduleKind::gpipe, ScheduleKind::one_f_one_b,
                                  ScheduleKind::interleaved, ScheduleKind::looped_bfs};

std::string slots_of(const PipelineShape& shape) { return ", " + std::to_string(shape.slots) + " slots, "; }

// One subject for each schedule that is made for the shape, where its messages fit into the slots.
void add_schedules(Subjects& subjects, const std::string& name, PipelineShape shape) {
    for (shape.slots = 1; shape.slots <= 2; ++shape.slots) {
        for (const ScheduleKind kind : kinds) {
            try {
                Subject subject{name + slots_of(shape) + name_of(kind), shape, generate(kind, shape)};
                const bool fits = explore(lower(subject.compute, shape), shape).is_accepted();
                if (fits) subjects.push_back(std::move(subject));
            } catch (const ConfigError&) {
                continue;
            }
        }
    }
}

void add_grids(Subjects& subjects, int pipe, int replicas, int most_micro_batches, bool is_training) {
    for (int chunks = 1; chunks <= 2; ++chunks) {
        for (int micro_batches = 1; micro_batches <= most_micro_batches; ++micro_batches) {
            const std::string name = "pipe " + std::to_string(pipe) + ", replicas " + std::to_string(replicas) +
                                     ", chunks " + std::to_string(chunks) + ", micro-batches " +
                                     std::to_string(micro_batches);
            add_schedules(subjects, name, grid_shape(pipe, replicas, chunks, micro_batches, is_training));
        }
    }
}

void add_uneven(Subjects& subjects, const std::vector<int>& replicas, bool is_training) {
    std::string name = "replicas";
    for (const int count : replicas) name += " " + std::to_string(count);
    for (int micro_batches = 1; micro_batches <= 4; ++micro_batches) {
        add_schedules(subjects, name + ", micro-batches " + std::to_string(micro_batches),
                      uneven_shape(replicas, micro_batches, is_training));
    }
}

// All forwards stage by stage, then all backwards: in order on any shape.
std::vector<Program> stage_by_stage(const PipelineShape& shape) {
    std::vector<Program> programs(static_cast<std::size_t>(shape.teams));
    const auto add = [&](Op op, int stage) {
        for (int m = 0; m < shape.micro_batches; ++m) {
            programs[static_cast<std::size_t>(shape.executor_of(stage, m))].push_back({op, stage, m});
        }
    };
    for (int stage = 0; stage < shape.stages(); ++stage) add(Op::forward, stage);
    for (int stage = shape.stages() - 1; shape.is_training && stage >= 0; --stage) add(Op::backward, stage);
    return programs;
}

void add_woven(Subjects& subjects, bool is_training) {
    PipelineShape there_and_back{.teams = 3, .micro_batches = 2, .is_training = is_training};
    there_and_back.holders = {{0}, {1, 2}, {0}};
    there_and_back.executor = {{0, 0}, {1, 2}, {0, 0}};
    PipelineShape crossed{.teams = 2, .micro_batches = 3, .is_training = is_training};
    crossed.holders = {{0, 1}, {0, 1}, {1}};
    crossed.executor = {{0, 1, 0}, {1, 0, 0}, {1, 1, 1}};
    for (const auto& [name, woven] : {std::pair{"there and back", there_and_back}, {"crossed over", crossed}}) {
        PipelineShape shape = woven;
        for (shape.slots = 1; shape.slots <= 2; ++shape.slots) {
            subjects.push_back(
                {std::string(name) + slots_of(shape) + "stage by stage", shape, stage_by_stage(shape)});
        }
    }
}

// The weight half comes anywhere behind the input half.
void divide_backwards(Program& program, Draw& draw) {
    for (std::size_t at = 0; at < program.size(); ++at) {
        if (program[at].op != Op::backward || draw.one_in(3)) continue;
        Instruction weight = program[at];
        weight.op = Op::backward_weight;
        program[at].op = Op::backward_input;
        const std::size_t place = at + 1 + draw.below(program.size() - at);
        program.insert(std::next(program.begin(), static_cast<std::ptrdiff_t>(place)), weight);
    }
}

}  // namespace

std::vector<Subject> one_row() {
    Subjects subjects;
    for (int pipe = 1; pipe <= 3; ++pipe) add_grids(subjects, pipe, 1, 4, true);
    return subjects;
}

std::vector<Subject> two_rows() {
    Subjects subjects;
    add_grids(subjects, 1, 2, 3, true);
    add_grids(subjects, 2, 2, 2, true);
    return subjects;
}

std::vector<Subject> uneven_stages() {
    Subjects subjects;
    add_uneven(subjects, {2, 1}, true);
    add_uneven(subjects, {1, 2}, true);
    add_uneven(subjects, {1, 2, 1}, true);
    add_woven(subjects, true);
    return subjects;
}

std::vector<Subject> forwards_alone() {
    Subjects subjects;
    for (int pipe = 1; pipe <= 3; ++pipe) add_grids(subjects, pipe, 1, 4, false);
    add_grids(subjects, 2, 2, 2, false);
    add_uneven(subjects, {2, 1}, false);
    add_woven(subjects, false);
    return subjects;
}

std::vector<Program> sound_programs(const Subject& subject, Draw& draw) {
    std::vector<Program> compute = subject.compute;
    if (draw.one_in(3)) {
        for (Program& program : compute) divide_backwards(program, draw);
    }
    return lower(compute, subject.shape);
}

}  // namespace trireme
