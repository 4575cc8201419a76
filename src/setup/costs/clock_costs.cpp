#include "trireme/setup/clock_costs.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/model/model.hpp"
#include "trireme/setup/clocks.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

std::vector<layout::Range> list_layers(const layout::Team& team, const layout::Layout& layout) {
    std::vector<layout::Range> layers;
    for (const int stage : team.stages) layers.push_back(layout.stages[static_cast<std::size_t>(stage)].layers);
    return layers;
}

[[noreturn]] void refuse_costs(const plan::ClockCosts& costs, const std::string& reason) {
    throw ConfigError(
        cat("--clock-costs ", costs.file, ' ', reason, "; measure again with --clock-costs sweep"));
}

// Returns for example "stage 1 with 6 layers from layer 6 on 2 ranks per replica".
std::string describe_replica(const layout::Team& team, const layout::Layout& layout) {
    const layout::Range layers = layout.stages[static_cast<std::size_t>(team.stages.front())].layers;
    return cat("stage ", team.stages.front(), " with ", format_count(layers.count, "layer"), " from layer ",
               layers.begin, " on ", format_count(team.ranks.size(), "rank"), " per replica");
}

// Returns the index of the costs of a team.
std::size_t match_replica(const plan::ClockCosts& costs, const layout::Team& team, const layout::Layout& layout,
                          const NamedDevice& device) {
    const std::vector<layout::Range> layers = list_layers(team, layout);
    const plan::ReplicaCosts* other = nullptr;  // the costs on another device
    for (std::size_t kind = 0; kind < costs.replicas.size(); ++kind) {
        const plan::ReplicaCosts& replica = costs.replicas[kind];
        if (replica.layers != layers || replica.ranks != team.ranks.size()) continue;
        if (device.name.empty() || (replica.device == device.name && replica.clocks == device.clocks))
            return kind;
        if (other == nullptr || replica.device == device.name) other = &replica;
    }
    if (other == nullptr) refuse_costs(costs, cat("has no costs of ", describe_replica(team, layout)));
    if (other->device == device.name)
        refuse_costs(costs, cat("lists other clocks of ", device.name, " than those of the device of rank ",
                                team.ranks.front()));
    refuse_costs(costs, cat("was measured on ", other->device, ", but the device of rank ", team.ranks.front(),
                            " is ", device.name));
}

std::vector<int> list_mhz(std::span<const plan::DeviceClock> clocks) {
    std::vector<int> mhz;
    for (const plan::DeviceClock& clock : clocks) mhz.push_back(static_cast<int>(std::lround(clock.mhz)));
    return mhz;
}

schedule::StageCost make_stage_cost(const plan::ClockCost& clock, std::size_t stages_of_team) {
    const double watts = clock.busy_watts - clock.idle_watts;
    schedule::StageCost cost{.forward = clock.forward,
                             .backward_input = clock.backward / 2,
                             .backward_weight = clock.backward / 2,
                             .step = clock.update / static_cast<double>(stages_of_team)};
    cost.joules = {.forward = watts * cost.forward,
                   .backward_input = watts * cost.backward_input,
                   .backward_weight = watts * cost.backward_weight,
                   .step = watts * cost.step};
    return cost;
}

}  // namespace

bool sweeps_clocks(const Job& job) {
    const config::PolicyConfig& policy = job.config.policy;
    if (policy.energy == config::Energy::baseline) return false;
    return policy.clock_costs == config::swept_clock_costs ||
           (policy.clock_costs == config::automatic_clock_costs && !device::time_is_simulated());
}

bool needs_pass_times(const Job& job) {
    return sweeps_clocks(job) || reconfigures(job.config.policy.energy, job.config.policy.reconfigure);
}

RankDevices list_devices(const std::optional<SimulatedDevices>& devices) {
    return [&devices](int rank) {
        if (!devices) return find_unknown_device(rank);
        const SimulatedDevice& device = devices->find_device(rank);
        return NamedDevice{.name = device.name, .clocks = list_mhz(device.clocks)};
    };
}

RankDevices list_devices(const Job& job) {
    if (job.devices) return list_devices(job.devices);
    return [&job](int rank) {
        const GpuClocks& gpu = job.gpu_clocks[static_cast<std::size_t>(rank)];
        return NamedDevice{.name = gpu.device, .clocks = list_mhz(gpu.clocks)};
    };
}

std::optional<plan::ClockCosts> read_clock_costs(const config::RunConfig& config) {
    const std::string& source = config.policy.clock_costs;
    if (source != config::automatic_clock_costs && !config.costs.stages.empty())
        throw ConfigError(
            cat("--clock-costs ", source, " and --cost both name the costs of passes; remove one of them"));
    if (!config::is_clock_costs_file(source)) return std::nullopt;
    if (!std::filesystem::exists(source))
        throw ConfigError(
            cat("--clock-costs ", source, " is neither auto nor sweep, and there is no such file"));
    return plan::parse_clock_costs(read_regular_file(source, "--clock-costs"), source);
}

plan::ClockCosts describe_measured_run(const model::ModelConfig& model, device::DType dtype,
                                       const plan::Plan& plan, const stage::BatchShape& largest_microbatch) {
    plan::ClockCosts run{.stages = plan.layout.stages.size(),
                         .parameters = count_parameters(model),
                         .dtype = to_string(dtype),
                         .tokens = largest_microbatch.rows,
                         .frozen = plan.frozen};
    const bool is_equal =
        std::ranges::adjacent_find(plan.recompute, std::not_equal_to<>()) == plan.recompute.end();
    for (const plan::Recompute level : plan.recompute) {
        run.recompute += cat(run.recompute.empty() ? "" : ",", to_string(level));
        if (is_equal) break;
    }
    return run;
}

void check_measured_run(const plan::ClockCosts& costs, const plan::ClockCosts& run) {
    if (costs.parameters != run.parameters)
        refuse_costs(costs, cat("was measured with a model of ", format_with_commas(costs.parameters),
                                " parameters, but this one has ", format_with_commas(run.parameters)));
    if (costs.dtype != run.dtype)
        refuse_costs(costs, cat("was measured in ", costs.dtype, ", but --dtype is ", run.dtype));
    if (costs.tokens != run.tokens)
        refuse_costs(costs, cat("was measured with micro-batches of up to ",
                                format_count(costs.tokens, "token"), ", but this run has up to ", run.tokens));
    if (costs.recompute != run.recompute)
        refuse_costs(costs, cat("was measured with --recompute ", costs.recompute, ", but this plan has ",
                                run.recompute));
    if (costs.frozen != run.frozen)
        refuse_costs(costs,
                     cat("was measured with --frozen ", costs.frozen, ", but this plan has ", run.frozen));
}

plan::ClockCosts list_replica_kinds(const Job& job, const PlanState& state) {
    const plan::Plan& plan = state.plan;
    const RankDevices find_device = list_devices(job);
    plan::ClockCosts costs =
        describe_measured_run(job.model, job.dtype, plan, state.largest_microbatches.front());
    for (const layout::Team& team : plan.teams) {
        NamedDevice device = find_device(team.ranks.front());
        plan::ReplicaCosts kind{.layers = list_layers(team, plan.layout),
                                .ranks = team.ranks.size(),
                                .device = std::move(device.name),
                                .clocks = std::move(device.clocks)};
        const auto is_listed = [&](const plan::ReplicaCosts& other) { return other.is_of_same_replicas(kind); };
        if (std::ranges::none_of(costs.replicas, is_listed)) costs.replicas.push_back(std::move(kind));
    }
    return costs;
}

std::vector<std::size_t> match_replicas(const plan::ClockCosts& costs, const plan::Plan& plan,
                                        const RankDevices& find_device) {
    const std::size_t stages = plan.layout.stages.size();
    if (costs.stages != stages)
        refuse_costs(costs, cat("has the costs of ", format_count(costs.stages, "stage"), ", but the plan has ",
                                stages));
    std::vector<std::size_t> kinds;
    for (const layout::Team& team : plan.teams)
        kinds.push_back(match_replica(costs, team, plan.layout, find_device(team.ranks.front())));
    return kinds;
}

schedule::StepCosts make_measured_costs(const plan::ClockCosts& costs, const plan::Plan& plan,
                                        const RankDevices& find_device) {
    std::vector<std::vector<plan::ClockCost>> clocks_of_kinds;
    for (const plan::ReplicaCosts& replica : costs.replicas)
        clocks_of_kinds.push_back(interpolate_clocks(replica));
    const std::vector<std::size_t> kinds = match_replicas(costs, plan, find_device);
    std::vector<schedule::TeamClocks> clocks;
    for (const std::size_t kind : kinds) {
        schedule::TeamClocks& of_team = clocks.emplace_back();
        for (const plan::ClockCost& each : clocks_of_kinds[kind]) {
            of_team.mhz.push_back(each.mhz);
            of_team.idle_watts.push_back(each.idle_watts);
        }
    }
    const schedule::PipelineShape& shape = plan.training.shape;
    const auto make_costs = [&](std::size_t clock) {
        std::vector<std::vector<schedule::StageCost>> of_stages(plan.layout.stages.size());
        for (std::size_t stage = 0; stage < of_stages.size(); ++stage) {
            for (int m = 0; m < shape.microbatches; ++m) {
                const auto team = static_cast<std::size_t>(shape.find_executor(static_cast<int>(stage), m));
                const std::vector<plan::ClockCost>& all = clocks_of_kinds[kinds[team]];
                of_stages[stage].push_back(
                    make_stage_cost(all[std::min(clock, all.size() - 1)], plan.teams[team].stages.size()));
            }
        }
        return schedule::StepCosts(std::move(of_stages));
    };
    schedule::StepCosts step = make_costs(0);
    step.add_clocks(std::move(clocks), make_costs);
    return step;
}

std::vector<std::vector<plan::DeviceClock>> list_measured_clocks(const plan::ClockCosts& costs,
                                                                 const plan::Plan& plan, int ranks) {
    const std::vector<std::size_t> kinds = match_replicas(costs, plan, find_unknown_device);
    std::vector<std::vector<plan::DeviceClock>> clocks(static_cast<std::size_t>(ranks));
    for (std::size_t team = 0; team < kinds.size(); ++team) {
        const std::vector<plan::ClockCost> known = interpolate_clocks(costs.replicas[kinds[team]]);
        for (const int rank : plan.teams[team].ranks)
            for (const plan::ClockCost& each : known)
                clocks[static_cast<std::size_t>(rank)].push_back({.mhz = static_cast<double>(each.mhz)});
    }
    return clocks;
}

StepFigures find_measured_baseline(const plan::ClockCosts& costs, const plan::Plan& plan,
                                   const RankDevices& find_device) {
    StepFigures figures{.joules = 0};
    for (const std::size_t kind : match_replicas(costs, plan, find_device)) {
        const plan::ClockCost& highest = costs.replicas[kind].measured.front();
        figures.seconds = std::max(figures.seconds, highest.step_seconds);
        *figures.joules += highest.joules;
    }
    return figures;
}

}  // namespace trireme::setup
