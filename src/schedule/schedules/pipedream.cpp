#include <algorithm>

#include "schedule/schedules/generators.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

// Returns the number of micro-batches of one step that `team` executes in a stage with these executors.
int count_executions(const std::vector<int>& executors, int team) {
    return static_cast<int>(std::count(executors.begin(), executors.end(), team));
}

// Returns 1F1B over the micro-batches of all steps; on a grid separately for each pipeline replica.
std::vector<Program> make_1f1b_without_flush(const PipelineShape& shape) {
    const std::optional<ReplicaGrid> grid = find_replica_grid(shape);
    if (!grid) return make_1f1b_programs(shape, *find_team_work(shape));
    const int per_replica = grid->microbatches_each;
    PipelineShape one_replica = make_grid_shape(grid->pipe, 1, 1, per_replica);
    one_replica.steps = shape.steps;
    std::vector<Program> programs;
    for (int replica = 0; replica < grid->replicas; ++replica) {
        for (Program& program : make_1f1b_programs(one_replica, *find_team_work(one_replica))) {
            for (Instruction& i : program) {
                i.microbatch = i.microbatch / per_replica * shape.microbatches + replica * per_replica +
                               i.microbatch % per_replica;
            }
            programs.push_back(std::move(program));
        }
    }
    return programs;
}

// Returns the number of warm-up forwards of 1F1B: those before the first backward, without the forward that is
// directly followed by this backward.
int count_warm_up(const Program& program) {
    const auto first =
        std::find_if(program.begin(), program.end(), [](const Instruction& i) { return i.op == Op::backward; });
    return first == program.end() ? 0 : static_cast<int>(first - program.begin()) - 1;
}

// Returns, per stage, the number of steps by which forwards run ahead of backwards, rounded up. Forwards that
// use weights of at least this age need not wait for an update.
std::vector<int> compute_delays(const PipelineShape& shape, const std::vector<Program>& programs) {
    std::vector<int> delays;
    for (int stage = 0; stage < shape.stages(); ++stage) {
        int delay = 0;
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            const int per_step = count_executions(shape.executor[static_cast<std::size_t>(stage)], team);
            const int warm_up = count_warm_up(programs[static_cast<std::size_t>(team)]);
            if (per_step > 0) delay = std::max(delay, (warm_up + per_step - 1) / per_step);
        }
        delays.push_back(delay);
    }
    return delays;
}

int find_max_delay(const std::vector<int>& delays) { return *std::max_element(delays.begin(), delays.end()); }

// Returns the next larger number of micro-batches per step for which forwards that use the weights of one
// update ago need not wait. Finds it by trial: replicas outside a grid take turns and may execute one
// micro-batch more or less than others.
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
    return cat("schedule pipedream-2bw keeps weights of one update ago, but with ",
               grid ? grid->microbatches_each : shape.microbatches, " micro-batches and ", shape.stages(),
               " stages the first stage runs ", delay,
               " steps ahead; the nearest shape it takes is --microbatches ",
               grid ? grid->pipe - 1 : find_min_microbatches(shape),
               grid && grid->replicas > 1 ? " for each replica" : "", ", or use --schedule pipedream-vertical");
}

// Inserts the REDUCEs and STEPs of one team's stage between its forwards and backwards, and sets the ages of
// the weights that the forwards and backwards use.
class UpdateInserter {
public:
    UpdateInserter(const PipelineShape& shape, int stage, int delay)
        : shape_(shape),
          stage_(stage),
          delay_(delay),
          remaining_backwards_(static_cast<std::size_t>(shape.steps)) {}

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

    // Adds a forward or a backward. An update that waits for all stages is inserted before the first forward
    // that uses its weights. An independent update of one stage follows the last backward of the step.
    void add(Instruction instruction) {
        const auto step = static_cast<int>(find_step(instruction));
        if (instruction.op == Op::forward && !shape_.updates_stages_independently) {
            while (updates_done_ < step - delay_) insert_update();
        }
        if (instruction.op == Op::forward) latest_step_ = std::max(latest_step_, step);
        instruction.age = find_newest_update() - (step - delay_);
        program_.push_back(instruction);
        if (instruction.op != Op::backward || --remaining_backwards_[find_step(instruction)] > 0) return;
        program_.push_back({Op::reduce, stage_});
        ++reduces_done_;
        if (shape_.updates_stages_independently) insert_update();
    }

    // Returns the number of the newest update so far. If updates wait for all stages, the numbers before the
    // first update are extrapolated to negative values, so that ages are the same in every step.
    int find_newest_update() const {
        return shape_.updates_stages_independently ? updates_done_ : latest_step_ - delay_;
    }

    void insert_update() {
        for (; reduces_done_ <= updates_done_; ++reduces_done_) program_.push_back({Op::reduce, stage_});
        program_.push_back({Op::step, stage_});
        ++updates_done_;
    }

    const PipelineShape& shape_;
    int stage_;
    int delay_;                             // age of the weights that the stage uses, in updates
    std::vector<int> remaining_backwards_;  // per step: number of backwards not yet added
    int reduces_done_ = 0;
    int updates_done_ = 0;
    int latest_step_ = 0;  // latest step whose forwards have begun
    Program program_;
};

// Inserts REDUCEs and STEPs into 1F1B without a flush. `delays` has the age of the weights per stage, in
// updates.
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

// 1F1B without flushes. In this example each stage is updated independently after every micro-batch (Narayanan
// et al., 2019). B1@2 is the backward of micro-batch 1, and uses the weights that F1 has used: those of two
// updates ago, or the initial weights if there were fewer updates.
//
//   stage 0   F0 F1 F2             B0@2 STEP F3 B1@2 STEP F4 ...
//   stage 1      F0 F1        B0@1 STEP F2 B1@1 STEP F3 ...
//   stage 2         F0 B0 STEP F1 B1 STEP F2 B2 STEP ...
//
// With vertical sync all stages use weights of the age that the first stage needs. In 2BW (Narayanan et al.,
// 2021) all stages use the weights of one update ago, so that no forward waits if a step has at least pipe - 1
// micro-batches. In both variants updates wait for the gradients of all stages. A STEP stands just before the
// first forward that uses its weights, which leaves time for the gradient reduction.
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
