#include "policy/spread.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "trireme/layout/best_cut.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::policy {
namespace {

using Counts = std::vector<std::size_t>;

std::vector<double> seconds_of_replicas(const std::vector<TeamPace>& paces, const LayerWork& work) {
    std::vector<double> seconds;
    for (const TeamPace& pace : paces) seconds.push_back(pace.seconds(work));
    return seconds;
}

std::vector<double> turns_of(const layout::StageLayout& stage) {
    std::vector<double> turns;
    for (const layout::ReplicaLayout& replica : stage.replicas)
        turns.push_back(static_cast<double>(replica.turns));
    return turns;
}

// Returns the number of a stage's micro-batches per replica.
Counts counts_of(const layout::StageLayout& stage, std::size_t microbatches) {
    Counts counts(stage.replicas.size());
    for (const std::size_t replica : layout::take_turns(turns_of(stage), microbatches)) ++counts[replica];
    return counts;
}

// Returns the counts that minimize the time of the last replica.
Counts best_counts(const std::vector<double>& seconds, std::size_t microbatches) {
    std::vector<double> speeds;
    for (const double each : seconds) speeds.push_back(each > 0 ? 1 / each : 1);
    return layout::count_turns(speeds, microbatches);
}

double last_done(const std::vector<double>& seconds, const Counts& counts) {
    double last = 0;
    for (std::size_t r = 0; r < seconds.size(); ++r)
        last = std::max(last, seconds[r] * static_cast<double>(counts[r]));
    return last;
}

class Spreading {
public:
    Spreading(const layout::Layout& layout, const StagePaces& paces, const RunWork& work,
              const SpreadLimits& limits)
        : layout_(layout), paces_(paces), work_(work), limits_(limits) {}

    Counts counts(std::size_t stage, const std::vector<double>& seconds) const {
        const bool are_enough = limits_.microbatches >= seconds.size();
        return limits_.may_take_turns && are_enough ? best_counts(seconds, limits_.microbatches)
                                                    : counts_of(layout_.stages[stage], limits_.microbatches);
    }

    // Returns the time of a stage with these layers for all micro-batches of a step.
    double seconds(std::size_t stage, layout::Range run) const {
        const bool has_block = work_.of(layout_.stages[stage].layers).products > 0;
        const bool keeps_none = has_block && work_.of(run).products == 0;
        if (keeps_none || !fits(stage, work_.of(run))) return layout::impossible;
        const std::vector<double> each = seconds_of_replicas(paces_[stage], work_.of(run));
        return last_done(each, counts(stage, each));
    }

private:
    bool fits(std::size_t stage, const LayerWork& work) const {
        if (limits_.memory_limit == 0) return true;
        const std::size_t in_flight = stage < limits_.in_flight.size() ? limits_.in_flight[stage] : 1;
        const auto shared = static_cast<double>(work.held_bytes + in_flight * work.kept_bytes);
        return largest_part(layout_.stages[stage]) * shared + static_cast<double>(work.workspace_bytes) <=
               static_cast<double>(limits_.memory_limit);
    }

    // Returns the largest share of a rank relative to an even share.
    static double largest_part(const layout::StageLayout& stage) {
        double largest = 1;
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            for (std::size_t r = 0; r < replica.shares.size(); ++r)
                largest = std::max(largest, part_of_even(replica.shares, r));
        }
        return largest;
    }

    const layout::Layout& layout_;
    const StagePaces& paces_;
    const RunWork& work_;
    const SpreadLimits& limits_;
};

// The seconds of every stage with every run of layers; best_cut() asks for each more than once.
class SecondsTable {
public:
    SecondsTable(const Spreading& spreading, std::size_t stages, std::size_t layers)
        : layers_(layers), seconds_(stages * layers * layers) {
        for (std::size_t stage = 0; stage < stages; ++stage) {
            for (std::size_t begin = 0; begin < layers; ++begin) {
                for (std::size_t count = 1; begin + count <= layers; ++count)
                    seconds_[place(stage, {begin, count})] = spreading.seconds(stage, {begin, count});
            }
        }
    }
    double at(std::size_t stage, layout::Range run) const { return seconds_[place(stage, run)]; }

private:
    std::size_t place(std::size_t stage, layout::Range run) const {
        return (stage * layers_ + run.begin) * layers_ + run.count - 1;
    }

    std::size_t layers_;
    std::vector<double> seconds_;
};

void cut(layout::Layout& layout, const Spreading& spreading, std::size_t layers) {
    const SecondsTable table(spreading, layout.stages.size(), layers);
    const auto seconds = [&](std::size_t stage, layout::Range run) { return table.at(stage, run); };
    const auto larger = [](double a, double b) { return std::max(a, b); };
    const double longest = layout::best_cut(layers, layout.stages.size(), seconds, larger).cost;
    if (longest == layout::impossible) return;
    const auto square = [&](std::size_t stage, layout::Range run) {
        const double own = seconds(stage, run);
        return own <= longest ? own * own : layout::impossible;
    };
    const layout::BestCut best = layout::best_cut(layers, layout.stages.size(), square, std::plus{});
    std::size_t begin = 0;
    for (std::size_t stage = 0; stage < layout.stages.size(); ++stage) {
        layout.stages[stage].layers = {begin, best.lengths[stage]};
        begin += best.lengths[stage];
    }
}

// Reduces turns to the smallest integers.
void give_turns(layout::StageLayout& stage, const Counts& counts) {
    std::size_t divisor = 0;
    for (const std::size_t count : counts) divisor = std::gcd(divisor, count);
    for (std::size_t r = 0; r < counts.size(); ++r) stage.replicas[r].turns = counts[r] / divisor;
}

}  // namespace

Places places_of(const layout::Layout& layout) {
    Places places;
    for (const layout::StageLayout& stage : layout.stages) {
        auto& replicas = places.emplace_back();
        for (const layout::ReplicaLayout& replica : stage.replicas) replicas.push_back(replica.ranks);
    }
    return places;
}

bool has_one_stage_each(const Places& places) {
    std::map<int, int> stages;  // per team, by its first rank
    for (const auto& replicas : places) {
        for (const std::vector<int>& ranks : replicas) ++stages[ranks.front()];
    }
    return std::ranges::all_of(stages, [](const auto& each) { return each.second == 1; });
}

void spread(layout::Layout& layout, const StagePaces& paces, const RunWork& work, const SpreadLimits& limits) {
    const Spreading spreading(layout, paces, work, limits);
    if (limits.may_cut) cut(layout, spreading, work.layers());
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        layout::StageLayout& stage = layout.stages[s];
        if (!limits.may_take_turns || limits.microbatches < stage.replicas.size()) continue;
        give_turns(stage, spreading.counts(s, seconds_of_replicas(paces[s], work.of(stage.layers))));
    }
}

}  // namespace trireme::policy
