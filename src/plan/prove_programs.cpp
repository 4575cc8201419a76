#include "plan/prove_programs.hpp"

#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/schedule/lower.hpp"
#include "trireme/schedule/predict.hpp"
#include "trireme/schedule/step_buffers.hpp"

namespace trireme::plan {
namespace {

constexpr int max_consecutive_slots = 4;  // all slot counts up to this number are tried, then powers of two

// Returns the predicted seconds of the representative steps.
double predict_duration(const ProvedPrograms& proved, const std::vector<schedule::StageCost>& costs) {
    schedule::PipelineShape unrolled_shape = proved.shape;
    unrolled_shape.steps = proved.representative_steps;
    return predict(unroll(proved.phases(), proved.shape, unrolled_shape.steps), unrolled_shape, costs).makespan;
}

int count_max_stages_per_team(const schedule::PipelineShape& shape) {
    std::vector<int> stages_per_team(static_cast<std::size_t>(shape.teams));
    for (const std::vector<int>& holders : shape.holders) {
        for (const int team : holders) ++stages_per_team[static_cast<std::size_t>(team)];
    }
    return *std::max_element(stages_per_team.begin(), stages_per_team.end());
}

int find_next_slots(int slots) { return slots < max_consecutive_slots ? slots + 1 : 2 * slots; }

}  // namespace

std::optional<ProvedPrograms> try_slots(const schedule::Phases& compute, schedule::PipelineShape shape,
                                        int slots, std::string& fault) {
    shape.slots = slots;
    fault = find_lowering_obstacle(compute, shape);
    if (!fault.empty()) return std::nullopt;
    schedule::Phases phases = lower_phases(compute, shape);
    schedule::PipelineShape unrolled_shape = shape;
    unrolled_shape.steps = count_representative_steps(phases, shape.microbatches);
    schedule::Verdict verdict = verify_programs(unroll(phases, shape, unrolled_shape.steps), unrolled_shape);
    if (!verdict.is_proved()) {
        fault = verdict.fault->what;
        return std::nullopt;
    }
    const int look_ahead = count_look_ahead_steps(phases, shape.microbatches);
    const bool have_common_buffers = have_steps_common_buffers(phases, shape.microbatches);
    return ProvedPrograms{.shape = std::move(shape),
                          .prologue = std::move(phases.prologue),
                          .programs = std::move(phases.body),
                          .look_ahead = look_ahead,
                          .representative_steps = unrolled_shape.steps,
                          .have_common_buffers = have_common_buffers,
                          .proof = std::move(verdict.proof)};
}

int compute_max_useful_slots(const schedule::Phases& compute, const schedule::PipelineShape& shape) {
    const bool overlaps_steps = keeps_work_in_flight(compute, shape.microbatches);
    if (!overlaps_steps) return shape.microbatches * shape.stages();
    return shape.microbatches * count_max_stages_per_team(shape) + shape.stages();
}

ProvedPrograms prove_with_fewest_slots(const schedule::Phases& compute, const schedule::PipelineShape& shape,
                                       const std::vector<schedule::StageCost>& costs,
                                       const std::string& place) {
    const int max_slots = compute_max_useful_slots(compute, shape);
    std::string fault;
    std::optional<ProvedPrograms> with_max_slots = try_slots(compute, shape, max_slots, fault);
    if (!with_max_slots) throw ConfigError(cat(place, " cannot be run: ", fault));
    const double min_duration = predict_duration(*with_max_slots, costs);
    for (int slots = 1; slots < max_slots; slots = find_next_slots(slots)) {
        std::optional<ProvedPrograms> with_fewer_slots = try_slots(compute, shape, slots, fault);
        if (with_fewer_slots && predict_duration(*with_fewer_slots, costs) <= min_duration)
            return *std::move(with_fewer_slots);
    }
    return *std::move(with_max_slots);
}

}  // namespace trireme::plan
