#include <algorithm>

#include "schedule/schedules/generators.hpp"
#include "trireme/base/error.hpp"

namespace trireme::schedule {
namespace {

int count_of(const std::vector<int>& executors, int team) {
    return static_cast<int>(std::count(executors.begin(), executors.end(), team));
}

// Returns 1F1B over the micro-batches of all steps; on a grid separately for each row.
std::vector<Program> without_flush(const PipelineShape& shape) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    if (!grid) return alternate_passes(shape, *one_stage_each(shape));
    const int each = grid->microbatches_each;
    PipelineShape row = grid_shape(grid->pipe, 1, 1, each);
    row.steps = shape.steps;
    std::vector<Program> programs;
    for (int d = 0; d < grid->replicas; ++d) {
        for (Program& program : alternate_passes(row, *one_stage_each(row))) {
            for (Instruction& i : program) {
                i.microbatch = i.microbatch / each * shape.microbatches + d * each + i.microbatch % each;
            }
            programs.push_back(std::move(program));
        }
    }
    return programs;
}

// Returns the number of forwards before the first backward, minus one.
int warm_up_of(const Program& program) {
    const auto first =
        std::find_if(program.begin(), program.end(), [](const Instruction& i) { return i.op == Op::backward; });
    return first == program.end() ? 0 : static_cast<int>(first - program.begin()) - 1;
}

// Returns, per stage, the steps by which forwards run ahead of backwards: the smallest age of weights with
// which forwards need not wait.
std::vector<int> own_delays(const PipelineShape& shape, const std::vector<Program>& programs) {
    std::vector<int> delays;
    for (int stage = 0; stage < shape.stages(); ++stage) {
        int delay = 0;
        for (const int team : shape.holders[static_cast<std::size_t>(stage)]) {
            const int each = count_of(shape.executor[static_cast<std::size_t>(stage)], team);
            const int warm_up = warm_up_of(programs[static_cast<std::size_t>(team)]);
            if (each > 0) delay = std::max(delay, (warm_up + each - 1) / each);
        }
        delays.push_back(delay);
    }
    return delays;
}

int largest_of(const std::vector<int>& delays) { return *std::max_element(delays.begin(), delays.end()); }

// Returns the next larger number of micro-batches for which weights of one update ago are old enough. It is
// found by trial, because replicas outside a grid take turns and may get one micro-batch more or less than
// others.
int enough_microbatches(const PipelineShape& shape) {
    std::vector<int> replicas;
    for (const std::vector<int>& holders : shape.holders) replicas.push_back(static_cast<int>(holders.size()));
    PipelineShape more = shape;
    do {
        more = uneven_shape(replicas, more.microbatches + 1);
        more.steps = shape.steps;
    } while (largest_of(own_delays(more, without_flush(more))) > 1);
    return more.microbatches;
}

std::string few_microbatches_obstacle(const PipelineShape& shape, int delay) {
    const std::optional<RegularShape> grid = grid_behind(shape);
    return cat("schedule pipedream-2bw keeps weights of one update ago, but with ",
               grid ? grid->microbatches_each : shape.microbatches, " micro-batches and ", shape.stages(),
               " stages the first stage runs ", delay,
               " steps ahead; the nearest shape it takes is --microbatches ",
               grid ? grid->pipe - 1 : enough_microbatches(shape),
               grid && grid->replicas > 1 ? " for each replica" : "", ", or use --schedule pipedream-vertical");
}

// Inserts the updates of one team between its passes, and sets the ages of the weights that the passes use.
class Updating {
public:
    Updating(const PipelineShape& shape, int stage, int delay)
        : shape_(shape), stage_(stage), delay_(delay), left_(static_cast<std::size_t>(shape.steps)) {}

    Program updated(const Program& passes) {
        for (const Instruction& pass : passes) left_[step_of(pass)] += pass.op == Op::backward ? 1 : 0;
        for (const Instruction& pass : passes) add(pass);
        while (updates_ < shape_.steps) update();
        return std::move(program_);
    }

private:
    std::size_t step_of(const Instruction& pass) const {
        return static_cast<std::size_t>(shape_.step_of(pass.microbatch));
    }

    // An update that waits for all stages stands before the first forward that needs it. An update of a single
    // stage follows the last backward of the step.
    void add(Instruction pass) {
        const auto step = static_cast<int>(step_of(pass));
        if (pass.op == Op::forward && !shape_.updates_alone) {
            while (updates_ < step - delay_) update();
        }
        if (pass.op == Op::forward) latest_ = std::max(latest_, step);
        pass.age = newest() - (step - delay_);
        program_.push_back(pass);
        if (pass.op != Op::backward || --left_[step_of(pass)] > 0) return;
        program_.push_back({Op::reduce, stage_});
        ++reduces_;
        if (shape_.updates_alone) update();
    }

    // Returns the number of the newest update. If updates wait for all stages, it is extrapolated to negative
    // numbers before the first one, so that ages are the same in every step.
    int newest() const { return shape_.updates_alone ? updates_ : latest_ - delay_; }

    void update() {
        for (; reduces_ <= updates_; ++reduces_) program_.push_back({Op::reduce, stage_});
        program_.push_back({Op::step, stage_});
        ++updates_;
    }

    const PipelineShape& shape_;
    int stage_;
    int delay_;
    std::vector<int> left_;  // per step: backwards left
    int reduces_ = 0;
    int updates_ = 0;
    int latest_ = 0;  // latest step whose forwards have begun
    Program program_;
};

// Inserts the updates into 1F1B without a flush. `delays` has the age of the weights per stage.
std::vector<Program> with_updates(std::vector<Program> programs, const PipelineShape& shape,
                                  const std::vector<int>& delays) {
    for (int stage = 0; stage < shape.stages(); ++stage) {
        const auto s = static_cast<std::size_t>(stage);
        for (const int team : shape.holders[s]) {
            Program& program = programs[static_cast<std::size_t>(team)];
            program = Updating(shape, stage, delays[s]).updated(program);
        }
    }
    return programs;
}

std::vector<int> for_all_stages(int delay, const PipelineShape& shape) {
    return std::vector<int>(static_cast<std::size_t>(shape.stages()), delay);
}

}  // namespace

// 1F1B without flushes. In this example each stage is updated alone after every micro-batch (Narayanan et al.,
// 2019). B0@2 uses the weights that F0 has used, which are two updates old.
//
//   stage 0   F0 F1 F2             B0@2 STEP F3 B1@2 STEP F4 ...
//   stage 1      F0 F1        B0@1 STEP F2 B1@1 STEP F3 ...
//   stage 2         F0 B0 STEP F1 B1 STEP F2 B2 STEP ...
//
// With vertical sync all stages use weights of the first stage's age. In 2BW (Narayanan et al., 2021) they use
// those of one update ago, which is old enough if a step has at least pipe - 1 micro-batches. In both variants
// updates wait for the gradients of all stages. They stand just before the first forward that needs them, which
// leaves time for the reduction.
std::vector<Program> pipedream(const ScheduleInput& input) {
    PipelineShape shape = input.shape;
    shape.updates_alone = true;
    std::vector<Program> programs = without_flush(shape);
    const std::vector<int> delays = own_delays(shape, programs);
    return with_updates(std::move(programs), shape, delays);
}

std::vector<Program> pipedream_vertical(const ScheduleInput& input) {
    std::vector<Program> programs = without_flush(input.shape);
    const int delay = largest_of(own_delays(input.shape, programs));
    return with_updates(std::move(programs), input.shape, for_all_stages(delay, input.shape));
}

std::vector<Program> pipedream_2bw(const ScheduleInput& input) {
    return with_updates(without_flush(input.shape), input.shape, for_all_stages(1, input.shape));
}

std::string obstacle_to_2bw(const ScheduleInput& input) {
    const int delay = largest_of(own_delays(input.shape, without_flush(input.shape)));
    return delay > 1 ? few_microbatches_obstacle(input.shape, delay) : std::string();
}

// A full pipeline has no idle time.
std::optional<double> idle_of_full_pipeline(const EqualRow& /*row*/, const StageCost& /*cost*/) { return 0; }

}  // namespace trireme::schedule
