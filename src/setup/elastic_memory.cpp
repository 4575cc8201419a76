#include "trireme/setup/elastic_memory.hpp"

#include <algorithm>
#include <limits>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/setup/memory_prediction.hpp"

namespace trireme::setup {
namespace {

std::vector<RankMemory> predict_memory(const Job& job, const PlanState& state, const plan::Plan& plan,
                                       const stage::GradientPlan& gradients) {
    const SizedPlan sized_plan(job.model, plan, job.dtype, state.largest_microbatches, job.memory_space);
    return predict_memory_of_ranks(sized_plan, &job.config.optimizer, gradients,
                                   static_cast<int>(job.memory_limits.size()),
                                   job.config.run.checkpoint_every > 0);
}

// Returns the plan with at least the recomputation `level` in every stage. Teams that split backward passes
// have no full recomputation.
plan::Plan raise_recomputation(plan::Plan plan, plan::Recompute level) {
    const auto is_split = [&](int stage) { return has_split_backward(plan, stage); };
    for (const layout::Team& team : plan.teams) {
        const plan::Recompute highest =
            std::ranges::any_of(team.stages, is_split) ? std::min(level, plan::Recompute::selective) : level;
        for (const int stage : team.stages) {
            plan::Recompute& recompute = plan.recompute[static_cast<std::size_t>(stage)];
            recompute = std::max(recompute, highest);
        }
    }
    return plan;
}

std::string describe_longest_sample(const Job& job) {
    if (!job.corpus) return "";
    const data::Sample& longest = *std::ranges::max_element(job.samples.train, {}, &data::Sample::length);
    return cat("; row ", longest.row, " of the corpus has the longest sample, ",
               format_with_commas(longest.length), " tokens");
}

}  // namespace

std::vector<std::size_t> find_memory_limits(const config::RunConfig& config,
                                            const std::optional<SimulatedDevices>& devices, int ranks) {
    if (!is_elastic(config)) return {};
    const auto count = static_cast<std::size_t>(ranks);
    if (config.layout.memory_limit > 0) return std::vector<std::size_t>(count, config.layout.memory_limit);
    if (devices) {
        std::vector<std::size_t> limits;
        for (int rank = 0; rank < ranks; ++rank) limits.push_back(devices->find_device(rank).memory);
        return limits;
    }
    if (config.precision.free_gpu_memory.size() == count) return config.precision.free_gpu_memory;
    throw ConfigError(
        "--elastic length fits each step into a memory limit, which CPUs do not have; set it with "
        "--memory-limit");
}

void check_elastic(const config::RunConfig& config, const model::ModelConfig& model, const plan::Plan& plan) {
    if (!is_elastic(config)) return;
    if (may_migrate(config.policy))
        throw ConfigError(
            "--elastic length cannot be combined with a --straggler policy that offloads matmuls to "
            "other ranks, because their memory is not planned step by step; use --straggler resize, "
            "or uneven without --bridge");
    if (model.reads_images())
        throw ConfigError("--elastic length is for texts of different lengths; images have equal lengths");
    if (plan.training.have_common_buffers)
        throw ConfigError(cat("--elastic length plans the memory of each step by itself, but with schedule ",
                              plan.schedule,
                              " the buffers of several steps are in use at once; use another "
                              "--schedule"));
}

std::string explain_lack_for_largest_microbatches(const Job& job, const PlanState& state) {
    const std::size_t ranks = job.memory_limits.size();
    const stage::GradientPlan gradients = make_gradient_plan({job, state}, job.buckets);
    std::vector<std::size_t> least(ranks);  // 0 on idle ranks
    std::vector<std::size_t> min_excess(state.plan.teams.size(), std::numeric_limits<std::size_t>::max());
    std::vector<std::size_t> constant(ranks);
    for (const plan::Recompute level :
         {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
        const std::vector<RankMemory> memories =
            predict_memory(job, state, raise_recomputation(state.plan, level), gradients);
        // All ranks of a team have the same recomputation.
        for (std::size_t t = 0; t < state.plan.teams.size(); ++t) {
            std::size_t lack = 0;
            for (const int rank : state.plan.teams[t].ranks) {
                const auto r = static_cast<std::size_t>(rank);
                const std::size_t bytes = memories[r].total();
                constant[r] = bytes - memories[r].step_buffers;
                lack = std::max(lack, bytes - std::min(bytes, job.memory_limits[r]));
            }
            if (lack >= min_excess[t]) continue;
            min_excess[t] = lack;
            for (const int rank : state.plan.teams[t].ranks)
                least[static_cast<std::size_t>(rank)] = memories[static_cast<std::size_t>(rank)].total();
        }
    }
    std::size_t worst = 0;  // the rank with the largest lack
    const auto compute_lack = [&](std::size_t rank) {
        return least[rank] - std::min(least[rank], job.memory_limits[rank]);
    };
    for (std::size_t rank = 1; rank < ranks; ++rank)
        if (compute_lack(rank) > compute_lack(worst)) worst = rank;
    if (compute_lack(worst) == 0) return "";
    const std::size_t limit = job.memory_limits[worst];
    if (constant[worst] > limit)
        return cat("rank ", worst, " needs ", format_with_commas(constant[worst]),
                   " bytes for parameters, gradients and optimizer state alone, but its memory limit is ",
                   format_with_commas(limit), " bytes; use more stages or replicas, or raise --memory-limit");
    return cat("rank ", worst, " needs ", format_with_commas(least[worst]), " bytes for micro-batches of ",
               format_with_commas(state.largest_microbatches.front().rows),
               " tokens, even with all possible recomputation, but its memory limit is ",
               format_with_commas(limit), " bytes", describe_longest_sample(job),
               "; raise --memory-limit or --microbatches");
}

void limit_steps(const Job& job, PlanState& state) {
    state.max_step_bytes.clear();
    if (job.memory_limits.empty()) return;
    const std::vector<RankMemory> memories = predict_memory(job, state, state.plan, state.gradients);
    for (std::size_t rank = 0; rank < memories.size(); ++rank) {
        const std::size_t constant = memories[rank].total() - memories[rank].step_buffers;
        const std::size_t limit = job.memory_limits[rank];
        state.max_step_bytes.push_back(limit - std::min(limit, constant));
    }
}

}  // namespace trireme::setup
