#include "trireme/setup/elastic_memory.hpp"

#include <algorithm>
#include <limits>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/memory_prediction.hpp"

namespace trireme::setup {
namespace {

std::vector<RankMemory> predict_memory(const Job& job, const PlanState& state, const plan::Plan& plan,
                                       const stage::GradientPlan& gradients) {
    SizedPlan sized_plan(job.model, plan, job.dtype, state.largest_microbatches, job.memory_space);
    sized_plan.uses_cache = uses_cache(job.config.policy);
    return predict_memory_of_ranks(sized_plan, &job.config.optimizer, gradients,
                                   static_cast<int>(job.memory_limits.size()),
                                   job.config.run.checkpoint_every > 0);
}

std::string describe_longest_sample(const Job& job) {
    if (!job.corpus) return "";
    const data::Sample& longest = *std::ranges::max_element(job.samples.train, {}, &data::Sample::length);
    return cat("; row ", longest.row, " of the corpus has the longest sample, ",
               format_with_commas(longest.length), " tokens");
}

// Returns, for example, "recomputation and offload"; an empty text if only the layout may make a step fit.
std::string list_means(const Job& job, const plan::Plan& plan) {
    const bool may_recompute = may_use(job.config.policy, config::ElasticMeans::recompute);
    if (!explain_no_offload(job, plan).empty()) return may_recompute ? "recomputation" : "";
    return may_recompute ? "recomputation and offload" : "offload";
}

std::string describe_layout_changes(const config::RunConfig& config, const plan::Plan& plan) {
    if (!may_use(config.policy, config::ElasticMeans::layout)) return "";
    const std::string reason = explain_fixed_layout(config, plan);
    return reason.empty() ? "; the layout follows the lengths of samples"
                          : cat("; the layout stays, because ", reason);
}

bool may_change_from(const config::RunConfig& config, const plan::Plan& plan) {
    return config.policy.straggler == config::StragglerPolicy::uneven || !config.policy.decisions.empty() ||
           explain_fixed_layout(config, plan).empty();
}

std::vector<std::size_t> list_device_memory(const SimulatedDevices& devices, int ranks) {
    std::vector<std::size_t> bytes;
    for (int rank = 0; rank < ranks; ++rank) bytes.push_back(devices.find_device(rank).memory);
    return bytes;
}

// `free_bytes` is the free memory per rank, and empty if it is unknown.
void check_saved_limits(const std::vector<std::size_t>& limits, const std::vector<std::size_t>& free_bytes) {
    for (std::size_t rank = 0; rank < std::min(limits.size(), free_bytes.size()); ++rank) {
        if (limits[rank] <= free_bytes[rank]) continue;
        throw ConfigError(cat("the resumed run had a memory limit of ", format_with_commas(limits[rank]),
                              " bytes on rank ", rank, ", but only ", format_with_commas(free_bytes[rank]),
                              " bytes of the rank's device are free now; set a lower limit with "
                              "--memory-limit"));
    }
}

}  // namespace

std::vector<std::size_t> find_device_memory(const config::RunConfig& config,
                                            const std::optional<SimulatedDevices>& devices, int ranks) {
    if (devices) return list_device_memory(*devices, ranks);
    const std::vector<std::size_t>& gpus = config.precision.usable_gpu_memory;
    return gpus.size() == static_cast<std::size_t>(ranks) ? gpus : std::vector<std::size_t>();
}

std::vector<std::size_t> find_memory_limits(const config::RunConfig& config,
                                            const std::optional<SimulatedDevices>& devices, int ranks) {
    if (!is_elastic(config)) return {};
    const auto count = static_cast<std::size_t>(ranks);
    if (config.layout.memory_limit > 0) return std::vector<std::size_t>(count, config.layout.memory_limit);
    std::vector<std::size_t> device_memory = find_device_memory(config, devices, ranks);
    if (config.resumed_options && config.resumed_options->saved.memory_limits.size() == count) {
        const std::vector<std::size_t>& saved_limits = config.resumed_options->saved.memory_limits;
        check_saved_limits(saved_limits, devices ? device_memory : config.precision.free_gpu_memory);
        return saved_limits;
    }
    if (!device_memory.empty()) return device_memory;
    throw ConfigError(
        "--elastic length fits each step into a memory limit, which CPUs do not have; set it with "
        "--memory-limit");
}

void check_elastic(const config::RunConfig& config, const model::ModelConfig& model, const plan::Plan& plan) {
    if (!is_elastic(config)) return;
    if (may_migrate(config.policy) || may_skip_channels(config.policy.straggler))
        throw ConfigError(
            "--elastic length cannot be combined with a --straggler policy that divides matmuls anew, because "
            "their memory and time are not planned step by step; use --straggler uneven without --bridge");
    if (config.policy.elastic_rule == config::ElasticRule::published &&
        config.policy.straggler != config::StragglerPolicy::off)
        throw ConfigError(
            "--elastic-rule published does not support --straggler; use --elastic-rule ahead or --straggler "
            "off");
    if (model.reads_images())
        throw ConfigError("--elastic length is for texts of different lengths; images have equal lengths");
    if (plan.training.have_common_buffers)
        throw ConfigError(cat("--elastic length plans the memory of each step by itself, but with schedule ",
                              plan.schedule,
                              " the buffers of several steps are in use at once; use another "
                              "--schedule"));
}

std::string explain_no_offload(const Job& job, const plan::Plan& plan) {
    const std::vector<config::ElasticMeans>& means = job.config.policy.elastic_means;
    const bool is_demanded = std::ranges::find(means, config::ElasticMeans::offload) != means.end();
    if (!means.empty() && !is_demanded) return "--elastic-means does not name it";
    std::string reason;
    const auto has_no_link = [](const SimulatedDevice& device) { return !device.host; };
    if (optim::count_state_values(job.config.optimizer, job.dtype) == 0) {
        reason = "the optimizer keeps no state";
    } else if (job.devices && std::ranges::any_of(job.devices->kinds, has_no_link)) {
        reason = cat("the cluster ", job.devices->cluster, " has no \"host\" link");
    } else if (plan.training.look_ahead > 0) {
        reason = cat("with schedule ", plan.schedule, " a step begins before the previous one ends");
    } else if (job.config.policy.move == config::MoveMethod::overlap && may_change_from(job.config, plan)) {
        reason = "with --move overlap the state still moves while a step runs";
    }
    if (is_demanded && !reason.empty())
        throw ConfigError(cat("--elastic-means offload has nothing to work with, because ", reason));
    return reason;
}

layout::Link find_host_link(const Job& job, int rank) {
    if (job.devices) return *job.devices->find_device(rank).host;
    constexpr layout::Link typical_gpu{.latency = 1e-5, .bandwidth = 12e9};  // PCI Express 3.0 x16
    constexpr layout::Link typical_disk{.latency = 1e-4, .bandwidth = 1e9};
    return job.memory_space == device::MemorySpace::gpu ? typical_gpu : typical_disk;
}

std::string describe_elastic(const Job& job, const plan::Plan& plan) {
    if (job.memory_limits.empty()) return "";
    const auto [least, most] = std::ranges::minmax(job.memory_limits);
    const std::string no_offload = explain_no_offload(job, plan);
    const std::string means = list_means(job, plan);
    return cat("each step fits into ", format_bytes(least), least < most ? cat(" to ", format_bytes(most)) : "",
               " per rank", means.empty() ? "" : " by " + means,
               no_offload.empty() ? "" : cat("; no offload, because ", no_offload),
               describe_layout_changes(job.config, plan));
}

std::string explain_lack_for_largest_microbatches(const Job& job, const PlanState& state) {
    const std::size_t ranks = job.memory_limits.size();
    const stage::GradientPlan gradients = make_gradient_plan({job, state}, job.buckets);
    std::vector<std::size_t> least(ranks);  // 0 on idle ranks
    std::vector<std::size_t> min_excess(state.plan.teams.size(), std::numeric_limits<std::size_t>::max());
    std::vector<std::size_t> constant(ranks);
    const bool may_offload = explain_no_offload(job, state.plan).empty();
    for (const plan::Recompute level :
         {plan::Recompute::none, plan::Recompute::selective, plan::Recompute::full}) {
        if (level != plan::Recompute::none && !may_use(job.config.policy, config::ElasticMeans::recompute))
            continue;
        const std::vector<RankMemory> memories =
            predict_memory(job, state, raise_recomputation(state.plan, level), gradients);
        // Offload lowers the need for the buffers of a step, but not below 0.
        const auto compute_need = [&](std::size_t rank) {
            const RankMemory& memory = memories[rank];
            return memory.total() - (may_offload ? std::min(memory.offloadable, memory.step_buffers) : 0);
        };
        // All ranks of a team have the same recomputation.
        for (std::size_t t = 0; t < state.plan.teams.size(); ++t) {
            std::size_t lack = 0;
            for (const int rank : state.plan.teams[t].ranks) {
                const auto r = static_cast<std::size_t>(rank);
                const std::size_t bytes = compute_need(r);
                constant[r] = memories[r].total() - memories[r].step_buffers;
                lack = std::max(lack, bytes - std::min(bytes, job.memory_limits[r]));
            }
            if (lack >= min_excess[t]) continue;
            min_excess[t] = lack;
            for (const int rank : state.plan.teams[t].ranks)
                least[static_cast<std::size_t>(rank)] = compute_need(static_cast<std::size_t>(rank));
        }
    }
    for (std::size_t rank = 0; rank < ranks; ++rank) least[rank] = std::max(least[rank], constant[rank]);
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
    const std::string means = list_means(job, state.plan);
    return cat("rank ", worst, " needs ", format_with_commas(least[worst]), " bytes for micro-batches of ",
               format_with_commas(state.largest_microbatches.front().rows), " tokens",
               means.empty() ? "" : ", even with all possible " + means, ", but its memory limit is ",
               format_with_commas(limit), " bytes", describe_longest_sample(job),
               "; raise --memory-limit or --microbatches");
}

void limit_steps(const Job& job, PlanState& state) {
    state.step_limits.clear();
    if (job.memory_limits.empty()) return;
    const std::vector<RankMemory> memories = predict_memory(job, state, state.plan, state.gradients);
    const bool may_offload = explain_no_offload(job, state.plan).empty();
    for (std::size_t rank = 0; rank < memories.size(); ++rank) {
        const std::size_t constant = memories[rank].total() - memories[rank].step_buffers;
        const std::size_t limit = job.memory_limits[rank];
        // Buffers occupy whole cache lines.
        const std::size_t bytes = (limit - std::min(limit, constant)) / cache_line_bytes * cache_line_bytes;
        state.step_limits.push_back(
            {.bytes = bytes, .offloadable_bytes = may_offload ? memories[rank].offloadable : 0});
    }
}

}  // namespace trireme::setup
