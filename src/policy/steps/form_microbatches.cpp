#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>

#include "policy/steps/cut_samples.hpp"
#include "policy/steps/share_evenly.hpp"
#include "trireme/policy/steps.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::policy {
namespace {

// The micro-batches of a step that pass the same teams: in each stage, one team executes all of them.
struct Replica {
    std::vector<std::size_t> turns;  // numbers of the micro-batches
};

std::vector<Replica> find_replicas(const schedule::PipelineShape& shape) {
    std::map<std::vector<int>, std::size_t> index_by_teams;
    std::vector<Replica> replicas;
    for (int m = 0; m < shape.microbatches; ++m) {
        std::vector<int> teams;
        for (int stage = 0; stage < shape.stages(); ++stage) teams.push_back(shape.find_executor(stage, m));
        const auto [entry, is_new] = index_by_teams.try_emplace(std::move(teams), replicas.size());
        if (is_new) replicas.emplace_back();
        replicas[entry->second].turns.push_back(static_cast<std::size_t>(m));
    }
    return replicas;
}

// Returns the class of each micro-batch. The largest gaps between sorted times separate the classes, which are
// numbered from 0 (the shortest times).
std::vector<std::size_t> classify_times(const std::vector<std::int64_t>& times) {
    constexpr std::size_t max_classes = 4;
    std::vector<std::int64_t> sorted = times;
    std::ranges::sort(sorted);
    std::vector<std::pair<std::int64_t, std::int64_t>> gaps;  // size, and the time after the gap
    for (std::size_t i = 1; i < sorted.size(); ++i)
        if (sorted[i] > sorted[i - 1]) gaps.emplace_back(sorted[i] - sorted[i - 1], sorted[i]);
    std::ranges::sort(gaps, std::greater{});
    gaps.resize(std::min(gaps.size(), max_classes - 1));
    std::vector<std::size_t> classes;
    for (const std::int64_t time : times)
        classes.push_back(static_cast<std::size_t>(
            std::ranges::count_if(gaps, [&](const auto& gap) { return gap.second <= time; })));
    return classes;
}

// Returns the costs of a step. `range_costs` is a result of find_range_costs(). `arrangement` has one entry per
// micro-batch: the index of its range, or the number of ranges if the micro-batch is empty.
schedule::StepCosts arrange_costs(const std::vector<std::vector<schedule::StageCost>>& range_costs,
                                  const std::vector<std::size_t>& arrangement) {
    std::vector<std::vector<schedule::StageCost>> costs(range_costs.size());
    for (std::size_t stage = 0; stage < costs.size(); ++stage)
        for (const std::size_t range : arrangement) costs[stage].push_back(range_costs[stage][range]);
    const std::size_t no_range = range_costs.front().size() - 1;
    std::vector<bool> empty_microbatches;
    for (const std::size_t range : arrangement) empty_microbatches.push_back(range == no_range);
    return schedule::StepCosts(std::move(costs), std::move(empty_microbatches));
}

}  // namespace

struct StepFormer::State {
    State(const plan::ProvedPrograms& programs, MicrobatchRules microbatch_rules, StageSums stages)
        : shape(programs.shape),
          stage_sums(std::move(stages)),
          timer(shape, stage_sums),
          clock(programs.phases(), shape),
          replicas(find_replicas(shape)),
          limits{.rules = microbatch_rules,
                 .max_microbatches = static_cast<std::size_t>(shape.microbatches),
                 .stages = shape.stages()} {}

    std::vector<std::vector<std::size_t>> share(const std::vector<std::int64_t>& loads) const;
    std::int64_t find_work(const std::vector<std::int64_t>& loads) const;
    std::vector<std::vector<schedule::StageCost>> find_range_costs(
        const std::vector<plan::MicrobatchShape>& shapes);

    schedule::PipelineShape shape;
    StageSums stage_sums;
    MicrobatchTimer timer;
    schedule::StepClock clock;
    std::vector<Replica> replicas;
    CutLimits limits;
};

// Returns the indices of the ranges of each replica, in ascending order. share_evenly() combines ranges into
// parts. The parts are assigned from the heaviest to the lightest. Each part goes to the replica with free
// turns whose work per turn, including this part, is smallest. So replicas with more turns get more parts.
std::vector<std::vector<std::size_t>> StepFormer::State::share(const std::vector<std::int64_t>& loads) const {
    std::size_t turns_per_part = 0;
    for (const Replica& replica : replicas) turns_per_part = std::gcd(turns_per_part, replica.turns.size());
    std::vector<Part> parts = share_evenly(loads, limits.max_microbatches / turns_per_part, turns_per_part);
    std::ranges::stable_sort(parts, std::greater{}, &Part::sum);
    std::vector<std::vector<std::size_t>> ranges_of_replicas(replicas.size());
    std::vector<std::int64_t> sums(replicas.size());
    std::vector<std::size_t> free_turns;
    for (const Replica& replica : replicas) free_turns.push_back(replica.turns.size());
    for (const Part& part : parts) {
        std::size_t best = replicas.size();
        double best_work = 0;
        for (std::size_t r = 0; r < replicas.size(); ++r) {
            const double work =
                static_cast<double>(sums[r] + part.sum) / static_cast<double>(replicas[r].turns.size());
            if (free_turns[r] == 0 || (best < replicas.size() && work >= best_work)) continue;
            best = r;
            best_work = work;
        }
        sums[best] += part.sum;
        free_turns[best] -= turns_per_part;
        ranges_of_replicas[best].insert(ranges_of_replicas[best].end(), part.items.begin(), part.items.end());
    }
    for (std::vector<std::size_t>& ranges : ranges_of_replicas) std::ranges::sort(ranges);
    return ranges_of_replicas;
}

// Returns the largest work per turn of any replica, multiplied by the total number of turns.
std::int64_t StepFormer::State::find_work(const std::vector<std::int64_t>& loads) const {
    const std::vector<std::vector<std::size_t>> ranges_of_replicas = share(loads);
    double most = 0;
    for (std::size_t r = 0; r < replicas.size(); ++r) {
        double load = 0;
        for (const std::size_t range : ranges_of_replicas[r]) load += static_cast<double>(loads[range]);
        most = std::max(most, load / static_cast<double>(replicas[r].turns.size()));
    }
    return std::llround(most * static_cast<double>(limits.max_microbatches));
}

// Returns the costs of each range in each stage: [stage][range]. The last range is an empty one.
std::vector<std::vector<schedule::StageCost>> StepFormer::State::find_range_costs(
    const std::vector<plan::MicrobatchShape>& shapes) {
    std::vector<std::vector<schedule::StageCost>> costs(static_cast<std::size_t>(shape.stages()));
    for (int stage = 0; stage < shape.stages(); ++stage) {
        std::vector<schedule::StageCost>& stage_costs = costs[static_cast<std::size_t>(stage)];
        for (const plan::MicrobatchShape& microbatch : shapes) {
            const plan::PassTimes times = timer.find_stage(stage, microbatch);
            const double half_backward = static_cast<double>(times.backward) / 2;
            stage_costs.push_back({.forward = static_cast<double>(times.forward),
                                   .backward_input = half_backward,
                                   .backward_weight = half_backward});
        }
        stage_costs.push_back({.forward = 0, .backward_input = 0, .backward_weight = 0});
    }
    return costs;
}

StepFormer::StepFormer(const plan::ProvedPrograms& programs, MicrobatchRules rules, StageSums stages)
    : state_(std::make_unique<State>(programs, rules, std::move(stages))) {}
StepFormer::~StepFormer() = default;

FormedStep StepFormer::form(std::vector<StepSample> samples) {
    std::ranges::sort(samples, {}, [](const StepSample& each) {
        return std::tuple(each.length, each.visit.epoch, each.visit.sample);
    });
    const std::vector<SampleRange> ranges =
        cut_samples(samples, state_->limits, state_->timer,
                    [&](const std::vector<std::int64_t>& loads) { return state_->find_work(loads); });
    const RangeShapes range_shapes(samples, state_->limits.rules.is_packed);
    std::vector<plan::MicrobatchShape> shapes;
    std::vector<std::int64_t> times;
    std::vector<std::int64_t> loads;
    for (const SampleRange& range : ranges) {
        shapes.push_back(range_shapes.find(range));
        const MicrobatchTime time = state_->timer.find(shapes.back());
        times.push_back(time.slowest_stage);
        loads.push_back(time.load);
    }
    const std::vector<std::vector<std::size_t>> ranges_of_replicas = state_->share(loads);
    const std::vector<std::size_t> classes = classify_times(times);

    const std::vector<std::vector<schedule::StageCost>> range_costs = state_->find_range_costs(shapes);
    const std::size_t no_range = ranges.size();

    // Try all orders of the classes; entry c of `ranks` is the position of class c.
    std::vector<std::size_t> ranks(1 + *std::ranges::max_element(classes));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<std::size_t> best_arrangement;
    FormedStep best;
    do {
        std::vector<std::size_t> arrangement(state_->limits.max_microbatches, no_range);
        for (std::size_t r = 0; r < ranges_of_replicas.size(); ++r) {
            std::vector<std::size_t> order = ranges_of_replicas[r];
            std::ranges::stable_sort(order, {}, [&](std::size_t range) { return ranks[classes[range]]; });
            for (std::size_t i = 0; i < order.size(); ++i) arrangement[state_->replicas[r].turns[i]] = order[i];
        }
        const double nanoseconds = state_->clock.predict_seconds(arrange_costs(range_costs, arrangement));
        if (!best_arrangement.empty() && nanoseconds >= best.nanoseconds) continue;
        best.nanoseconds = nanoseconds;
        best_arrangement = std::move(arrangement);
    } while (std::ranges::next_permutation(ranks).found);

    best.microbatches.resize(best_arrangement.size());
    for (std::size_t m = 0; m < best_arrangement.size(); ++m) {
        if (best_arrangement[m] == no_range) continue;
        const SampleRange& range = ranges[best_arrangement[m]];
        for (std::size_t s = range.begin; s < range.end; ++s) best.microbatches[m].push_back(samples[s].visit);
    }
    return best;
}

bool StepFormer::can_form(const std::vector<StepSample>& samples) const {
    std::vector<std::size_t> lengths;
    for (const StepSample& sample : samples) lengths.push_back(sample.length);
    const CutLimits& limits = state_->limits;
    return std::ranges::max(lengths) <= limits.rules.max_rows &&
           count_fewest_microbatches(std::move(lengths), limits.rules) <= limits.max_microbatches;
}

FastestStep form_fastest(std::deque<StepFormer>& formers, const std::vector<StepSample>& samples) {
    std::optional<FastestStep> fastest;
    for (std::size_t f = 0; f < formers.size(); ++f) {
        const bool is_only_one = !fastest && f + 1 == formers.size();
        if (!is_only_one && !formers[f].can_form(samples)) continue;
        FormedStep step = formers[f].form(samples);
        if (!fastest || step.nanoseconds < fastest->step.nanoseconds) fastest = {f, std::move(step)};
    }
    return *std::move(fastest);
}

}  // namespace trireme::policy
