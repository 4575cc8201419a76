#include "policy/distribute_layers.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "trireme/layout/best_cut.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::policy {
namespace {

using MicrobatchCounts = std::vector<std::size_t>;  // per replica of a stage, in one step

// Returns, per replica, the seconds for one micro-batch.
std::vector<double> predict_microbatch_seconds(const std::vector<TeamPace>& paces, const LayerWork& work) {
    std::vector<double> seconds;
    for (const TeamPace& pace : paces) seconds.push_back(pace.seconds(work));
    return seconds;
}

std::vector<double> list_turns(const layout::StageLayout& stage) {
    std::vector<double> turns;
    for (const layout::ReplicaLayout& replica : stage.replicas)
        turns.push_back(static_cast<double>(replica.turns));
    return turns;
}

// Returns the number of micro-batches that each replica executes with its current turns.
MicrobatchCounts count_current_microbatches(const layout::StageLayout& stage, std::size_t microbatches) {
    MicrobatchCounts counts(stage.replicas.size());
    for (const std::size_t replica : layout::assign_turns(list_turns(stage), microbatches)) ++counts[replica];
    return counts;
}

// Returns the numbers of micro-batches that minimize the time of the slowest replica. If the seconds of all
// replicas are 0, which means unknown, all replicas count as equally fast.
MicrobatchCounts find_best_microbatch_counts(const std::vector<double>& microbatch_seconds,
                                             std::size_t microbatches) {
    std::vector<double> speeds;
    for (const double each : microbatch_seconds) speeds.push_back(each > 0 ? 1 / each : 1);
    return layout::count_turns(speeds, microbatches);
}

// Returns the seconds of the slowest replica for its micro-batches of a step.
double find_max_replica_seconds(const std::vector<double>& microbatch_seconds, const MicrobatchCounts& counts) {
    double max_seconds = 0;
    for (std::size_t r = 0; r < microbatch_seconds.size(); ++r)
        max_seconds = std::max(max_seconds, microbatch_seconds[r] * static_cast<double>(counts[r]));
    return max_seconds;
}

// Predicts the times of stages.
class StageTimes {
public:
    StageTimes(const layout::Layout& layout, const StagePaces& paces, const LayerRunWork& work,
               const DistributionLimits& limits)
        : layout_(layout), paces_(paces), work_(work), limits_(limits) {}

    // Returns the numbers of micro-batches for the replicas of a stage. `microbatch_seconds` has one value per
    // replica. Uses the current turns if `limits` forbid other turns, or if there are too few micro-batches to
    // give one to each replica.
    MicrobatchCounts choose_microbatch_counts(std::size_t stage,
                                              const std::vector<double>& microbatch_seconds) const {
        const bool has_enough_microbatches = limits_.microbatches >= microbatch_seconds.size();
        return limits_.may_change_turns && has_enough_microbatches
                   ? find_best_microbatch_counts(microbatch_seconds, limits_.microbatches)
                   : count_current_microbatches(layout_.stages[stage], limits_.microbatches);
    }

    // Returns the time in which a stage with the layers of `run` executes all its micro-batches of a step;
    // infinite_cost if the layers exceed the memory limit, or if the stage would lose all its attention and MLP
    // layers.
    double predict_seconds(std::size_t stage, layout::Range run) const {
        const bool has_matmuls = work_.find(layout_.stages[stage].layers).matmuls > 0;
        const bool loses_all_matmuls = has_matmuls && work_.find(run).matmuls == 0;
        if (loses_all_matmuls || !fits_memory(stage, work_.find(run))) return layout::infinite_cost;
        const std::vector<double> microbatch_seconds =
            predict_microbatch_seconds(paces_[stage], work_.find(run));
        return find_max_replica_seconds(microbatch_seconds,
                                        choose_microbatch_counts(stage, microbatch_seconds));
    }

private:
    bool fits_memory(std::size_t stage, const LayerWork& work) const {
        if (limits_.memory_limit == 0) return true;
        const std::size_t in_flight = stage < limits_.in_flight.size() ? limits_.in_flight[stage] : 1;
        const auto even_share_bytes = static_cast<double>(work.state_bytes + in_flight * work.activation_bytes);
        return find_max_relative_share(layout_.stages[stage]) * even_share_bytes +
                   static_cast<double>(work.workspace_bytes) <=
               static_cast<double>(limits_.memory_limit);
    }

    // Returns the largest share of any rank of the stage, relative to an even share.
    static double find_max_relative_share(const layout::StageLayout& stage) {
        double largest = 1;
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            for (std::size_t r = 0; r < replica.shares.size(); ++r)
                largest = std::max(largest, compute_relative_share(replica.shares, r));
        }
        return largest;
    }

    const layout::Layout& layout_;
    const StagePaces& paces_;
    const LayerRunWork& work_;
    const DistributionLimits& limits_;
};

// A table of the predicted seconds of each stage with each run of layers. cut_layers() reads the table twice.
class SecondsTable {
public:
    SecondsTable(const StageTimes& stage_times, std::size_t stages, std::size_t layers)
        : layers_(layers), seconds_(stages * layers * layers) {
        for (std::size_t stage = 0; stage < stages; ++stage) {
            for (std::size_t begin = 0; begin < layers; ++begin) {
                for (std::size_t count = 1; begin + count <= layers; ++count)
                    seconds_[index(stage, {begin, count})] = stage_times.predict_seconds(stage, {begin, count});
            }
        }
    }
    double at(std::size_t stage, layout::Range run) const { return seconds_[index(stage, run)]; }

private:
    std::size_t index(std::size_t stage, layout::Range run) const {
        return (stage * layers_ + run.begin) * layers_ + run.count - 1;
    }

    std::size_t layers_;
    std::vector<double> seconds_;
};

// Sets the layers of all stages. The first search minimizes the time of the slowest stage. Among the cuts with
// this time, the second search minimizes the sum of squared stage times.
void cut_layers(layout::Layout& layout, const StageTimes& stage_times, std::size_t layers) {
    const SecondsTable table(stage_times, layout.stages.size(), layers);
    const auto seconds = [&](std::size_t stage, layout::Range run) { return table.at(stage, run); };
    const auto max = [](double a, double b) { return std::max(a, b); };
    const double max_stage_seconds = layout::find_best_cut(layers, layout.stages.size(), seconds, max).cost;
    if (max_stage_seconds == layout::infinite_cost) return;
    const auto squared_seconds = [&](std::size_t stage, layout::Range run) {
        const double run_seconds = seconds(stage, run);
        return run_seconds <= max_stage_seconds ? run_seconds * run_seconds : layout::infinite_cost;
    };
    const layout::BestCut best =
        layout::find_best_cut(layers, layout.stages.size(), squared_seconds, std::plus{});
    std::size_t begin = 0;
    for (std::size_t stage = 0; stage < layout.stages.size(); ++stage) {
        layout.stages[stage].layers = {begin, best.lengths[stage]};
        begin += best.lengths[stage];
    }
}

// Sets the turns of replicas to the smallest integers in the ratio of `counts`.
void set_turns(layout::StageLayout& stage, const MicrobatchCounts& counts) {
    std::size_t divisor = 0;
    for (const std::size_t count : counts) divisor = std::gcd(divisor, count);
    for (std::size_t r = 0; r < counts.size(); ++r) stage.replicas[r].turns = counts[r] / divisor;
}

}  // namespace

TeamPlacement find_placement(const layout::Layout& layout) {
    TeamPlacement placement;
    for (const layout::StageLayout& stage : layout.stages) {
        auto& replicas = placement.emplace_back();
        for (const layout::ReplicaLayout& replica : stage.replicas) replicas.push_back(replica.ranks);
    }
    return placement;
}

bool have_teams_one_stage(const TeamPlacement& placement) {
    std::map<int, int> stage_counts;  // number of stages per team, by the team's first rank
    for (const auto& replicas : placement) {
        for (const std::vector<int>& ranks : replicas) ++stage_counts[ranks.front()];
    }
    return std::ranges::all_of(stage_counts, [](const auto& each) { return each.second == 1; });
}

void distribute_layers_and_turns(layout::Layout& layout, const StagePaces& paces, const LayerRunWork& work,
                                 const DistributionLimits& limits) {
    const StageTimes stage_times(layout, paces, work, limits);
    if (limits.may_move_layers) cut_layers(layout, stage_times, work.layers());
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        layout::StageLayout& stage = layout.stages[s];
        if (!limits.may_change_turns || limits.microbatches < stage.replicas.size()) continue;
        set_turns(stage, stage_times.choose_microbatch_counts(
                             s, predict_microbatch_seconds(paces[s], work.find(stage.layers))));
    }
}

}  // namespace trireme::policy
