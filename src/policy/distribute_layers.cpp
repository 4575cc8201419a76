#include "policy/distribute_layers.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "trireme/layout/best_cut.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::policy {
namespace {

using Counts = std::vector<std::size_t>;

std::vector<double> predict_replica_seconds(const std::vector<TeamPace>& paces, const LayerWork& work) {
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

// Returns, per replica of a stage, the number of its micro-batches with the current turns.
Counts count_current_microbatches(const layout::StageLayout& stage, std::size_t microbatches) {
    Counts counts(stage.replicas.size());
    for (const std::size_t replica : layout::assign_turns(list_turns(stage), microbatches)) ++counts[replica];
    return counts;
}

// Returns, per replica, the number of micro-batches that minimizes the time of the slowest replica. `seconds`
// has the seconds of a micro-batch per replica.
Counts find_best_counts(const std::vector<double>& seconds, std::size_t microbatches) {
    std::vector<double> speeds;
    for (const double each : seconds) speeds.push_back(each > 0 ? 1 / each : 1);
    return layout::count_turns(speeds, microbatches);
}

double max_replica_seconds(const std::vector<double>& seconds, const Counts& counts) {
    double max_seconds = 0;
    for (std::size_t r = 0; r < seconds.size(); ++r)
        max_seconds = std::max(max_seconds, seconds[r] * static_cast<double>(counts[r]));
    return max_seconds;
}

// Predicts the times of stages.
class StageTimes {
public:
    StageTimes(const layout::Layout& layout, const StagePaces& paces, const LayerRunWork& work,
               const DistributionLimits& limits)
        : layout_(layout), paces_(paces), work_(work), limits_(limits) {}

    // Returns, per replica of the stage, its number of micro-batches. `seconds` has the seconds of a
    // micro-batch per replica. Turns stay as they are if they must not change, or if there are too few
    // micro-batches to give one to each replica.
    Counts choose_counts(std::size_t stage, const std::vector<double>& seconds) const {
        const bool has_enough_microbatches = limits_.microbatches >= seconds.size();
        return limits_.may_change_turns && has_enough_microbatches
                   ? find_best_counts(seconds, limits_.microbatches)
                   : count_current_microbatches(layout_.stages[stage], limits_.microbatches);
    }

    // Returns the time in which a stage with the layers of `run` executes all its micro-batches of a step;
    // infinite_cost if the layers exceed the memory limit, or if the stage would lose all its blocks.
    double seconds(std::size_t stage, layout::Range run) const {
        const bool has_block = work_.find(layout_.stages[stage].layers).matmuls > 0;
        const bool loses_all_blocks = has_block && work_.find(run).matmuls == 0;
        if (loses_all_blocks || !fits_memory(stage, work_.find(run))) return layout::infinite_cost;
        const std::vector<double> replica_seconds = predict_replica_seconds(paces_[stage], work_.find(run));
        return max_replica_seconds(replica_seconds, choose_counts(stage, replica_seconds));
    }

private:
    bool fits_memory(std::size_t stage, const LayerWork& work) const {
        if (limits_.memory_limit == 0) return true;
        const std::size_t in_flight = stage < limits_.in_flight.size() ? limits_.in_flight[stage] : 1;
        const auto even_share_bytes = static_cast<double>(work.state_bytes + in_flight * work.activation_bytes);
        return max_relative_share(layout_.stages[stage]) * even_share_bytes +
                   static_cast<double>(work.workspace_bytes) <=
               static_cast<double>(limits_.memory_limit);
    }

    // Returns the largest share of a rank relative to an even share.
    static double max_relative_share(const layout::StageLayout& stage) {
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

// A table of the seconds of every stage with every run of layers, because find_best_cut() needs each entry more
// than once.
class SecondsTable {
public:
    SecondsTable(const StageTimes& stage_times, std::size_t stages, std::size_t layers)
        : layers_(layers), seconds_(stages * layers * layers) {
        for (std::size_t stage = 0; stage < stages; ++stage) {
            for (std::size_t begin = 0; begin < layers; ++begin) {
                for (std::size_t count = 1; begin + count <= layers; ++count)
                    seconds_[index(stage, {begin, count})] = stage_times.seconds(stage, {begin, count});
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

void cut_layers(layout::Layout& layout, const StageTimes& stage_times, std::size_t layers) {
    const SecondsTable table(stage_times, layout.stages.size(), layers);
    const auto seconds = [&](std::size_t stage, layout::Range run) { return table.at(stage, run); };
    const auto max = [](double a, double b) { return std::max(a, b); };
    const double max_stage_seconds = layout::find_best_cut(layers, layout.stages.size(), seconds, max).cost;
    if (max_stage_seconds == layout::infinite_cost) return;
    const auto square_seconds = [&](std::size_t stage, layout::Range run) {
        const double run_seconds = seconds(stage, run);
        return run_seconds <= max_stage_seconds ? run_seconds * run_seconds : layout::infinite_cost;
    };
    const layout::BestCut best =
        layout::find_best_cut(layers, layout.stages.size(), square_seconds, std::plus{});
    std::size_t begin = 0;
    for (std::size_t stage = 0; stage < layout.stages.size(); ++stage) {
        layout.stages[stage].layers = {begin, best.lengths[stage]};
        begin += best.lengths[stage];
    }
}

// Sets the turns of replicas to the smallest integers in the ratio of `counts`.
void set_turns(layout::StageLayout& stage, const Counts& counts) {
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
    std::map<int, int> stage_counts;  // stages per team, by its first rank
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
        set_turns(stage,
                  stage_times.choose_counts(s, predict_replica_seconds(paces[s], work.find(stage.layers))));
    }
}

}  // namespace trireme::policy
