#include <algorithm>

#include "schedule/schedules/generators.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::schedule {
namespace {

// `executors` has one entry per micro-batch of a step: the team that executes the micro-batch in a stage.
// Returns the number of micro-batches that `team` executes.
int count_executions(const std::vector<int>& executors, int team) {
    return static_cast<int>(std::count(executors.begin(), executors.end(), team));
}

// Returns 1F1B programs of the micro-batches of all steps. No team may hold several stages. On a grid, replicas
// do not take turns, so the programs of each pipeline replica are generated separately.
std::vector<Program> make_1f1b_without_flush(const PipelineShape& shape) {
    const std::optional<ReplicaGrid> grid = find_replica_grid(shape);
    if (!grid) return make_1f1b_programs(shape, *find_team_work(shape));
    const int replica_microbatches = grid->microbatches_each;  // per step
    PipelineShape one_replica = make_grid_shape(grid->pipe, 1, 1, replica_microbatches);
    one_replica.steps = shape.steps;
    std::vector<Program> programs;
    for (int replica = 0; replica < grid->replicas; ++replica) {
        for (Program& program : make_1f1b_programs(one_replica, *find_team_work(one_replica))) {
            for (Instruction& instruction : program) {
                const int step = one_replica.find_step(instruction.microbatch);
                instruction.microbatch = step * shape.microbatches + replica * replica_microbatches +
                                         instruction.microbatch % replica_microbatches;
            }
            programs.push_back(std::move(program));
        }
    }
    return programs;
}

// Returns the number of warm-up forwards of a 1F1B program: all forwards before the first backward, except the
// last of them. Returns 0 if there is no backward.
int count_warm_up(const Program& program) {
    const auto first_backward =
        std::find_if(program.begin(), program.end(), [](const Instruction& i) { return i.op == Op::backward; });
    return first_backward == program.end() ? 0 : static_cast<int>(first_backward - program.begin()) - 1;
}

// Returns, per stage, the number of steps by which forwards run ahead of backwards, rounded up. A forward need
// not wait for an update if the age of its weights, in updates, is at least this number.
std::vector<int> compute_delays(const PipelineShape& shape, const std::vector<Program>& programs) {
    std::vector<int> delays;
    for (int stage = 0; stage < shape.stages(); ++stage) {
        int delay = 0;
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            const int microbatches_per_step =
                count_executions(shape.executor[static_cast<std::size_t>(stage)], team);
            const int warm_up = count_warm_up(programs[static_cast<std::size_t>(team)]);
            if (microbatches_per_step > 0)
                delay = std::max(delay, (warm_up + microbatches_per_step - 1) / microbatches_per_step);
        }
        delays.push_back(delay);
    }
    return delays;
}

int find_max_delay(const std::vector<int>& delays) { return *std::max_element(delays.begin(), delays.end()); }

// Returns the smallest sufficient number of micro-batches per step that is larger than shape.microbatches. With
// a sufficient number, forwards that use the weights of one update ago need not wait. `shape` must not be a
// grid. The number is found by trial, because some replicas of a stage may execute one micro-batch more than
// others. The tried shapes have replicas that take turns.
int find_min_microbatches(const PipelineShape& shape) {
    std::vector<int> replicas;
    for (const std::vector<int>& holders : shape.holders) replicas.push_back(static_cast<int>(holders.size()));
    PipelineShape larger_shape = shape;
    do {
        larger_shape = make_uneven_shape(replicas, larger_shape.microbatches + 1);
        larger_shape.steps = shape.steps;
    } while (find_max_delay(compute_delays(larger_shape, make_1f1b_without_flush(larger_shape))) > 1);
    return larger_shape.microbatches;
}

std::string describe_few_microbatches(const PipelineShape& shape, int delay) {
    const std::optional<ReplicaGrid> grid = find_replica_grid(shape);
    const int microbatches = grid ? grid->microbatches_each : shape.microbatches;
    return cat("schedule pipedream-2bw uses the weights of one update ago, but with ",
               format_count(static_cast<std::uint64_t>(microbatches), "micro-batch"), " and ", shape.stages(),
               " stages the first stage runs ", delay, " steps ahead; use --microbatches ",
               grid ? grid->pipe - 1 : find_min_microbatches(shape),
               grid && grid->replicas > 1 ? " for each replica" : "", ", or --schedule pipedream-vertical");
}

// Inserts REDUCEs and STEPs into the program of a team that holds one stage. Sets the ages of the weights that
// forwards and backwards use.
class UpdateInserter {
public:
    UpdateInserter(const PipelineShape& shape, int stage, int delay)
        : shape_(shape),
          stage_(stage),
          delay_(delay),
          remaining_backwards_(static_cast<std::size_t>(shape.steps)) {}

    // `instructions` are forwards and backwards. Must be called only once.
    Program insert_updates(const Program& instructions) {
        for (const Instruction& instruction : instructions)
            remaining_backwards_[find_step(instruction)] += instruction.op == Op::backward ? 1 : 0;
        for (const Instruction& instruction : instructions) add(instruction);
        while (updates_done_ < shape_.steps) insert_update();
        return std::move(program_);
    }

private:
    std::size_t find_step(const Instruction& instruction) const {
        return static_cast<std::size_t>(shape_.find_step(instruction.microbatch));
    }

    // Adds a forward or a backward. A REDUCE follows the last backward of a step. If stages are updated
    // independently, the STEP follows this REDUCE. Otherwise the STEP precedes the first forward that uses its
    // weights.
    void add(Instruction instruction) {
        const auto step = static_cast<int>(find_step(instruction));
        if (instruction.op == Op::forward && !shape_.updates_stages_independently) {
            while (updates_done_ < step - delay_) insert_update();
        }
        if (instruction.op == Op::forward) latest_step_ = std::max(latest_step_, step);
        instruction.age = extrapolate_updates_done() - (step - delay_);
        program_.push_back(instruction);
        if (instruction.op != Op::backward || --remaining_backwards_[find_step(instruction)] > 0) return;
        program_.push_back({Op::reduce, stage_});
        ++reduces_done_;
        if (shape_.updates_stages_independently) insert_update();
    }

    // Returns the number of updates done before the next instruction, from which ages of instructions count. If
    // updates wait for all stages, the first `delay_` steps have no updates. The result then continues the
    // later pattern backwards to negative numbers, so that instructions have the same ages in every step.
    int extrapolate_updates_done() const {
        return shape_.updates_stages_independently ? updates_done_ : latest_step_ - delay_;
    }

    // Inserts a STEP, and its REDUCE if the team has executed no backward of the step.
    void insert_update() {
        for (; reduces_done_ <= updates_done_; ++reduces_done_) program_.push_back({Op::reduce, stage_});
        program_.push_back({Op::step, stage_});
        ++updates_done_;
    }

    const PipelineShape& shape_;
    int stage_;
    int delay_;                             // step s uses the weights after s - delay_ updates
    std::vector<int> remaining_backwards_;  // per step: number of backwards that are not in program_
    int reduces_done_ = 0;                  // REDUCEs in program_
    int updates_done_ = 0;                  // STEPs in program_
    int latest_step_ = 0;                   // the latest step that has a forward in program_
    Program program_;
};

// Inserts REDUCEs and STEPs into 1F1B programs without flushes. With delay d, step s of a stage
// uses the weights after s - d updates. `delays` has one delay per stage.
std::vector<Program> insert_updates(std::vector<Program> programs, const PipelineShape& shape,
                                    const std::vector<int>& delays) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        const auto s = static_cast<std::size_t>(stage);
        for (const int team : shape.holders[s]) {
            Program& program = programs[static_cast<std::size_t>(team)];
            program = UpdateInserter(shape, stage, delays[s]).insert_updates(program);
        }
    }
    return programs;
}

std::vector<int> make_equal_delays(int delay, const PipelineShape& shape) {
    return std::vector<int>(static_cast<std::size_t>(shape.stages()), delay);
}

}  // namespace

// 1F1B without flushes (Narayanan et al., 2019). Each stage is updated independently. The example has one
// micro-batch per step. B1@2 is the backward of micro-batch 1 with the weights that F1 has used: those of
// two updates ago, or the initial weights if there were fewer updates.
//
//   stage 0   F0 F1 F2             B0@2 STEP F3 B1@2 STEP F4 ...
//   stage 1      F0 F1        B0@1 STEP F2 B1@1 STEP F3 ...
//   stage 2         F0 B0 STEP F1 B1 STEP F2 B2 STEP ...
//
// With vertical sync, all stages use weights of the age that the first stage needs. In 2BW (Narayanan et al.,
// ICML 2021), all stages use the weights of one update ago. In 2BW, no forward waits for an update if a
// pipeline replica has at least pipe - 1 micro-batches per step. With vertical sync and in 2BW, updates wait
// for the gradients of all stages. A STEP stands just before the first forward that uses its weights, which
// leaves time for the gradient reduction.
std::vector<Program> make_pipedream_programs(const ScheduleInput& input) {
    PipelineShape shape = input.shape;
    shape.updates_stages_independently = true;
    std::vector<Program> programs = make_1f1b_without_flush(shape);
    const std::vector<int> delays = compute_delays(shape, programs);
    return insert_updates(std::move(programs), shape, delays);
}

std::vector<Program> make_pipedream_vertical_programs(const ScheduleInput& input) {
    std::vector<Program> programs = make_1f1b_without_flush(input.shape);
    const int delay = find_max_delay(compute_delays(input.shape, programs));
    return insert_updates(std::move(programs), input.shape, make_equal_delays(delay, input.shape));
}

std::vector<Program> make_pipedream_2bw_programs(const ScheduleInput& input) {
    return insert_updates(make_1f1b_without_flush(input.shape), input.shape, make_equal_delays(1, input.shape));
}

std::string find_2bw_obstacle(const ScheduleInput& input) {
    const int delay = find_max_delay(compute_delays(input.shape, make_1f1b_without_flush(input.shape)));
    return delay > 1 ? describe_few_microbatches(input.shape, delay) : std::string();
}

// A pipeline without flushes is always full, so that it has no idle time.
std::optional<double> compute_full_pipeline_idle_time(const PipelineSizes& /*sizes*/,
                                                      const StageCost& /*cost*/) {
    return 0;
}

}  // namespace trireme::schedule
