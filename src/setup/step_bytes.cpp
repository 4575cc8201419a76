#include "trireme/setup/step_bytes.hpp"

#include <algorithm>
#include <set>
#include <tuple>

namespace trireme::setup {
namespace {

// Returns the rows, the samples and the levels of the micro-batches of a team, in the order in which its
// program names them. Teams of a class need equal memory if these numbers are equal.
std::vector<std::size_t> make_key(const TeamMemory& team,
                                  const std::vector<plan::MicrobatchShape>& microbatches,
                                  const std::vector<plan::MicrobatchLevels>& levels) {
    std::vector<std::size_t> key;
    for (const schedule::Instruction& instruction : team.program) {
        if (instruction.op != schedule::Op::forward) continue;
        const std::size_t m = static_cast<std::size_t>(instruction.microbatch) % microbatches.size();
        key.push_back(microbatches[m].rows);
        key.push_back(microbatches[m].samples);
        for (const plan::Recompute level : plan::find_levels(levels, m, instruction.stage))
            key.push_back(static_cast<std::size_t>(level));
    }
    return key;
}

}  // namespace

stage::BatchShape make_any_shape(const plan::MicrobatchShape& counts) {
    stage::BatchShape shape{.segments = {}, .rows = counts.rows, .predicted_rows = counts.predicted_rows};
    for (std::size_t s = 0; s < counts.samples; ++s) {
        const std::size_t begin = counts.rows * s / counts.samples;
        shape.segments.push_back({.begin = begin, .length = counts.rows * (s + 1) / counts.samples - begin});
    }
    return shape;
}

StepBytes::StepBytes(const SizedPlan& sized_plan, const optim::OptimizerConfig& optimizer,
                     const stage::GradientPlan& gradients, int ranks, bool saves_checkpoints)
    : StepBytes(sized_plan,
                predict_memory_of_ranks(sized_plan, &optimizer, gradients, ranks, saves_checkpoints)) {}

StepBytes::StepBytes(const SizedPlan& sized_plan, const std::vector<RankMemory>& memories)
    : plan_(sized_plan.plan) {
    // Classes are in the order of their first ranks.
    for (std::size_t rank = 0; rank < memories.size(); ++rank) {
        const auto is_held = plan_.find_team(static_cast<int>(rank)) >= 0;
        if (!is_held || memories[rank].class_index < classes_.size()) continue;
        const stage::LocalWork work = make_local_work(sized_plan, static_cast<int>(rank));
        classes_.push_back({.planner = stage::StepMemoryPlanner(work)});
    }
    for (std::size_t t = 0; t < plan_.teams.size(); ++t) {
        const auto team = static_cast<int>(t);
        TeamMemory& team_memory =
            teams_.emplace_back(team, plan_.training.unroll_program(team, 1), std::vector<TeamMemory::Rank>{});
        for (const int rank : plan_.teams[t].ranks) {
            const RankMemory& memory = memories[static_cast<std::size_t>(rank)];
            team_memory.ranks.push_back({.rank = rank,
                                         .class_index = memory.class_index,
                                         .constant_bytes = memory.total() - memory.step_buffers,
                                         .max_step_bytes = memory.step_buffers,
                                         .offloadable_bytes = memory.offloadable});
        }
    }
}

std::vector<std::vector<std::size_t>> StepBytes::predict_bytes(
    const std::vector<plan::MicrobatchShape>& microbatches, const std::vector<plan::MicrobatchLevels>& levels) {
    std::vector<stage::BatchShape> shapes;
    for (const plan::MicrobatchShape& counts : microbatches) shapes.push_back(make_any_shape(counts));
    std::vector<std::vector<std::size_t>> bytes;
    for (const TeamMemory& team : teams_) {
        std::vector<std::size_t>& team_bytes = bytes.emplace_back();
        const std::vector<std::size_t> key = make_key(team, microbatches, levels);
        for (const TeamMemory::Rank& rank : team.ranks) {
            std::size_t step_bytes = rank.max_step_bytes;
            if (!plan_.training.have_common_buffers) {
                ClassMemory& memory = classes_[rank.class_index];
                const auto [known, is_new] = memory.known_bytes.try_emplace(key);
                if (is_new)
                    known->second =
                        memory.planner.plan_step(team.program, team.team, plan_.training.shape, shapes, levels)
                            .bytes;
                step_bytes = known->second;
            }
            team_bytes.push_back(rank.constant_bytes + step_bytes);
        }
    }
    for (ClassMemory& each : classes_) each.known_bytes.clear();
    return bytes;
}

bool StepBytes::fit(const std::vector<plan::MicrobatchShape>& microbatches,
                    const std::vector<std::size_t>& limits) {
    std::vector<stage::BatchShape> shapes;
    for (const plan::MicrobatchShape& counts : microbatches) shapes.push_back(make_any_shape(counts));
    // The class, the key and the bytes for buffers of ranks whose step fits.
    std::set<std::tuple<std::size_t, std::vector<std::size_t>, std::size_t>> fitting;
    for (const TeamMemory& team : teams_) {
        const std::vector<std::size_t> key = make_key(team, microbatches, {});
        for (const TeamMemory::Rank& rank : team.ranks) {
            const std::size_t limit = limits[static_cast<std::size_t>(rank.rank)];
            if (rank.constant_bytes > limit) return false;
            const std::size_t max_bytes = limit - rank.constant_bytes;
            if (plan_.training.have_common_buffers) {
                if (rank.max_step_bytes > max_bytes) return false;
                continue;
            }
            if (fitting.insert({rank.class_index, key, max_bytes}).second &&
                !find_planner(rank.class_index)
                     .can_hold_step(team.program, team.team, plan_.training.shape, shapes, max_bytes))
                return false;
        }
    }
    return true;
}

std::size_t StepBytes::predict_max_bytes(const std::vector<plan::MicrobatchShape>& microbatches,
                                         const std::vector<plan::MicrobatchLevels>& levels) {
    if (microbatches == known_step_ && levels == known_levels_) return known_bytes_;
    known_step_ = microbatches;
    known_levels_ = levels;
    known_bytes_ = 0;
    for (const std::vector<std::size_t>& team_bytes : predict_bytes(microbatches, levels))
        for (const std::size_t bytes : team_bytes) known_bytes_ = std::max(known_bytes_, bytes);
    return known_bytes_;
}

}  // namespace trireme::setup
