#include "unit/schedule/sound_programs.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/schedule/generate.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/phases.hpp"
#include "unit/schedule/exhaustive_interpreter.hpp"

namespace trireme::schedule {
namespace {

using Subjects = std::vector<Subject>;
using Kinds = std::vector<Schedule>;

Kinds all_kinds() {
    Kinds kinds;
    for (const Schedule& kind : list_schedules()) kinds.push_back(kind);
    return kinds;
}

Kinds find_schedules(bool keep) {
    Kinds kinds = all_kinds();
    std::erase_if(kinds, [&](const Schedule& kind) { return kind.stashes_weights != keep; });
    return kinds;
}

// Removes sends and receives. lower() later inserts them for all steps together, so that a receive may be
// posted before its step.
std::vector<Program> without_messages(std::vector<Program> programs) {
    for (Program& program : programs) {
        std::erase_if(program, [](const Instruction& i) { return is_send(i.op) || is_receive(i.op); });
    }
    return programs;
}

std::vector<Program> repeated(const std::vector<Program>& of_one_step, const PipelineShape& shape, int steps) {
    if (steps == 1) return of_one_step;
    const Phases phases{.prologue = std::vector<Program>(of_one_step.size()),
                        .body = without_messages(lower(of_one_step, shape))};
    return unroll(phases, shape, steps);
}

std::vector<Program> make_compute_programs(const Schedule& kind, const PipelineShape& shape, int steps) {
    if ((kind.stashes_weights && shape.is_training) || shape.has_speculative_updates) {
        return unroll(generate_phases(kind, shape), shape, steps);
    }
    return repeated(generate(kind, shape), shape, steps);
}

// Returns all forwards stage by stage, then all backwards: an order that can be executed on any shape.
std::vector<Program> stage_by_stage(const PipelineShape& shape) {
    std::vector<Program> programs(static_cast<std::size_t>(shape.teams));
    const auto add = [&](Op op, int stage) {
        for (int m = 0; m < shape.count_microbatches(); ++m) {
            programs[static_cast<std::size_t>(shape.find_executor(stage, m))].push_back({op, stage, m});
        }
    };
    for (int stage = 0; stage < shape.stages(); ++stage) add(Op::forward, stage);
    for (int stage = shape.stages() - 1; shape.is_training && stage >= 0; --stage) add(Op::backward, stage);
    return programs;
}

// Returns the passes of all steps, then their reductions, then their updates.
std::vector<Program> make_unseparated_steps(PipelineShape shape, int steps) {
    shape.steps = steps;
    std::vector<Program> programs = stage_by_stage(shape);
    for (const Op op : {Op::reduce, Op::step}) {
        for (int step = 0; step < steps; ++step) {
            for (int stage = 0; stage < shape.stages(); ++stage) {
                for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
                    programs[static_cast<std::size_t>(team)].push_back({op, stage});
                }
            }
        }
    }
    return programs;
}

// Returns programs with validated updates for any shape. The first stage's forwards of a step are between the
// update of the previous step and its validation.
std::vector<Program> validated_stage_by_stage(const PipelineShape& shape, int steps) {
    const std::vector<Program> of_a_step = stage_by_stage(shape);
    std::vector<Program> programs(of_a_step.size());
    const auto add = [&](Op op) {
        for (int stage = 0; stage < shape.stages(); ++stage) {
            for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
                programs[static_cast<std::size_t>(team)].push_back({op, stage});
            }
        }
    };
    const auto add_work = [&](int step, bool ahead) {
        for (std::size_t team = 0; team < programs.size(); ++team) {
            std::ranges::copy_if(shift_microbatches(of_a_step[team], step * shape.microbatches),
                                 std::back_inserter(programs[team]), [&](const Instruction& i) {
                                     return (i.op == Op::forward && i.stage == 0) == ahead;
                                 });
        }
    };
    add_work(0, true);
    for (int step = 0; step < steps; ++step) {
        add_work(step, false);
        add(Op::reduce);
        add(Op::step);
        if (step + 1 < steps) add_work(step + 1, true);
        add(Op::validate);
    }
    return programs;
}

std::vector<std::pair<const char*, PipelineShape>> make_irregular_shapes(bool is_training) {
    PipelineShape there_and_back{.teams = 3, .microbatches = 2, .is_training = is_training};
    there_and_back.holders = {{0}, {1, 2}, {0}};
    there_and_back.executor = {{0, 0}, {1, 2}, {0, 0}};
    PipelineShape crossed{.teams = 2, .microbatches = 3, .is_training = is_training};
    crossed.holders = {{0, 1}, {0, 1}, {1}};
    crossed.executor = {{0, 1, 0}, {1, 0, 0}, {1, 1, 1}};
    return {{"there and back", there_and_back}, {"crossed over", crossed}};
}

// Collects subjects: programs of some schedules over a number of steps.
class Gathering {
public:
    explicit Gathering(Kinds kinds, int steps = 1, bool is_training = true, bool validates = false)
        : kinds_(std::move(kinds)), steps_(steps), is_training_(is_training), validates_(validates) {}

    // Adds grids of one and two chunks and, for several teams, V shapes.
    void add_grids(int pipe, int replicas, int max_microbatches) {
        const std::string name = cat("pipe ", pipe, ", replicas ", replicas);
        for (int microbatches = 1; microbatches <= max_microbatches; ++microbatches) {
            for (int chunks = 1; chunks <= 2; ++chunks) {
                add_schedules(cat(name, ", chunks ", chunks),
                              make_grid_shape(pipe, replicas, chunks, microbatches, is_training_));
            }
            if (pipe == 1) continue;  // the V would equal the grid of two chunks
            add_schedules(cat(name, ", V"), make_v_shape(pipe, replicas, microbatches, is_training_));
        }
    }

    // Adds stage-by-stage programs with validated updates.
    void add_validated(const std::string& name, PipelineShape shape) {
        shape.has_speculative_updates = true;
        add(name, shape, "stage by stage, validated", validated_stage_by_stage(shape, steps_));
    }

    void add_uneven(const std::vector<int>& replicas, int max_microbatches) {
        std::string name = "replicas";
        for (const int count : replicas) name += cat(" ", count);
        for (int microbatches = 1; microbatches <= max_microbatches; ++microbatches) {
            add_schedules(name, make_uneven_shape(replicas, microbatches, is_training_));
        }
    }

    void add_irregular(bool is_in_flight = false) {
        for (const auto& [name, shape] : make_irregular_shapes(is_training_)) {
            add(name, shape, "stage by stage",
                is_in_flight ? make_unseparated_steps(shape, steps_)
                             : repeated(stage_by_stage(shape), shape, steps_));
        }
    }

    // Replaces all subjects by the same programs with each possible number of frozen stages.
    void freeze_stages() {
        const Subjects trained = std::move(subjects_);
        subjects_.clear();
        for (const Subject& subject : trained) {
            for (int stage = 1; stage < subject.shape.stages(); ++stage)
                subjects_.push_back(freeze(subject, stage));
        }
    }

    Subjects take() { return std::move(subjects_); }

private:
    static Subject freeze(Subject subject, int first_trained_stage) {
        subject.name = cat(first_trained_stage, " frozen, ", subject.name);
        subject.shape.first_trained_stage = first_trained_stage;
        for (Program& program : subject.compute) {
            std::erase_if(program, [&](const Instruction& i) {
                return i.stage < first_trained_stage && i.op != Op::forward;
            });
        }
        return subject;
    }

    // Adds the programs with one and with two slots, if the interpreter accepts them.
    void add(const std::string& name, PipelineShape shape, const std::string& schedule,
             const std::vector<Program>& compute) {
        shape.steps = steps_;
        for (shape.slots = 1; shape.slots <= 2; ++shape.slots) {
            if (!explore(lower(compute, shape), shape).is_accepted()) continue;
            subjects_.push_back({cat(name, ", micro-batches ", shape.microbatches, ", steps ", steps_, ", ",
                                     shape.slots, " slots, ", schedule),
                                 shape, compute});
        }
    }

    // Adds one subject for each number of slots and each schedule that takes the shape.
    void add_schedules(const std::string& name, PipelineShape shape) {
        for (const Schedule& kind : kinds_) {
            shape = apply_update_rule(kind, shape);
            shape.has_speculative_updates = shape.has_speculative_updates && validates_;
            try {
                add(name, shape, kind.name, make_compute_programs(kind, shape, steps_));
            } catch (const ConfigError&) {
                continue;
            }
        }
    }

    Kinds kinds_;
    int steps_;
    bool is_training_;
    bool validates_;  // schedules that can validate updates do so; otherwise their updates wait
    Subjects subjects_;
};

// Returns the position before which the weight half of a backward must be. It is that of the REDUCE of its
// step. If the same team holds the previous stage, it is that stage's backward, which frees what the weight
// half reads.
std::size_t find_end_for_weight_half(const Program& program, const Instruction& weight,
                                     const PipelineShape& shape) {
    int missing_reduces = shape.find_step(weight.microbatch) + 1;
    for (std::size_t at = 0; at < program.size(); ++at) {
        const auto [op, stage, microbatch, age, mhz] = program[at];
        if (op == Op::reduce && stage == weight.stage && --missing_reduces == 0) return at;
        const bool gives_back = op == Op::backward || op == Op::backward_weight;
        if (gives_back && stage == weight.stage - 1 && microbatch == weight.microbatch) return at;
    }
    return program.size();
}

// Splits backwards at random. The weight half is somewhere after the input half and uses the same weights,
// which may be older there.
void split_backwards(Program& program, const PipelineShape& shape, Draw& draw) {
    for (std::size_t at = 0; at < program.size(); ++at) {
        if (program[at].op != Op::backward || draw.one_in(3)) continue;
        Instruction weight = program[at];
        weight.op = Op::backward_weight;
        const std::size_t end = find_end_for_weight_half(program, weight, shape);
        program[at].op = Op::backward_input;
        const auto after = std::next(program.begin(), static_cast<std::ptrdiff_t>(at + 1));
        const auto place = std::next(after, static_cast<std::ptrdiff_t>(draw.below(end - at)));
        weight.age += static_cast<int>(std::count(after, place, Instruction{Op::step, weight.stage}));
        program.insert(place, weight);
    }
}

}  // namespace

std::vector<Subject> one_row() {
    Gathering gathering(all_kinds());
    for (int pipe = 1; pipe <= 3; ++pipe) gathering.add_grids(pipe, 1, 4);
    return gathering.take();
}

std::vector<Subject> two_rows() {
    Gathering gathering(all_kinds());
    gathering.add_grids(1, 2, 3);
    gathering.add_grids(2, 2, 2);
    return gathering.take();
}

std::vector<Subject> uneven_stages() {
    Gathering gathering(all_kinds());
    gathering.add_uneven({2, 1}, 4);
    gathering.add_uneven({1, 2}, 4);
    gathering.add_uneven({1, 2, 1}, 4);
    gathering.add_irregular();
    return gathering.take();
}

std::vector<Subject> forward_only_subjects() {
    Gathering gathering(all_kinds(), 1, false);
    for (int pipe = 1; pipe <= 3; ++pipe) gathering.add_grids(pipe, 1, 4);
    gathering.add_grids(2, 2, 2);
    gathering.add_uneven({2, 1}, 4);
    gathering.add_irregular();
    return gathering.take();
}

std::vector<Subject> two_steps() {
    Gathering gathering(find_schedules(false), 2);
    for (int pipe = 1; pipe <= 3; ++pipe) gathering.add_grids(pipe, 1, 2);
    gathering.add_grids(2, 2, 1);
    gathering.add_uneven({2, 1}, 3);
    gathering.add_irregular();
    return gathering.take();
}

std::vector<Subject> work_in_flight(int steps) {
    Gathering gathering(find_schedules(true), steps);
    for (int pipe = 1; pipe <= 3; ++pipe) gathering.add_grids(pipe, 1, 2);
    gathering.add_grids(2, 2, 1);
    gathering.add_uneven({2, 1}, 3);
    gathering.add_uneven({1, 2}, 3);
    gathering.add_irregular(true);
    return gathering.take();
}

std::vector<Subject> with_frozen_stages(int steps) {
    Gathering gathering(all_kinds(), steps);
    for (int pipe = 1; pipe <= 3; ++pipe) gathering.add_grids(pipe, 1, steps == 1 ? 3 : 2);
    gathering.add_grids(2, 2, 1);
    gathering.add_uneven({2, 1}, 3);
    gathering.add_uneven({1, 2}, 3);
    gathering.add_irregular(steps > 1);
    gathering.freeze_stages();
    return gathering.take();
}

std::vector<Subject> validated(int steps) {
    Gathering gathering({require_schedule("zb-h1"), require_schedule("zb-h2"), require_schedule("zb-v")}, steps,
                        true, true);
    gathering.add_grids(2, 1, 2);
    gathering.add_grids(3, 1, 2);
    gathering.add_grids(2, 2, 1);
    for (const auto& [name, shape] : make_irregular_shapes(true)) gathering.add_validated(name, shape);
    gathering.add_validated("replicas 2 1", make_uneven_shape({2, 1}, 2));
    gathering.add_validated("replicas 1 2", make_uneven_shape({1, 2}, 3));
    gathering.add_validated("one team", make_grid_shape(1, 1, 2, 2));
    return gathering.take();
}

std::vector<Program> draw_sound_programs(const Subject& subject, Draw& draw) {
    std::vector<Program> compute = subject.compute;
    if (draw.one_in(3)) {
        for (Program& program : compute) split_backwards(program, subject.shape, draw);
    }
    return lower(compute, subject.shape);
}

}  // namespace trireme::schedule
