#include "policy/steps/cut_samples.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::policy {
namespace {

constexpr std::int64_t unreachable = std::numeric_limits<std::int64_t>::max() / 4;

std::vector<std::size_t> list_all_positions(std::size_t samples) {
    std::vector<std::size_t> positions(samples + 1);
    std::iota(positions.begin(), positions.end(), 0);
    return positions;
}

// Returns the positions at which the samples may be cut. The first position is 0, and the last one is the
// number of samples. If there are many samples, consecutive short samples form groups that are not cut. A group
// is much smaller than a micro-batch.
std::vector<std::size_t> list_cut_positions(const std::vector<StepSample>& samples, const CutLimits& limits) {
    constexpr std::size_t min_samples = 64;
    constexpr std::size_t groups_per_microbatch = 16;
    std::size_t max_tokens = 0;  // of a group
    if (samples.size() > min_samples) {
        for (const StepSample& sample : samples) max_tokens += sample.length;
        max_tokens /= groups_per_microbatch * limits.max_microbatches;
    }
    std::vector<std::size_t> positions{0};
    std::size_t tokens = 0;
    for (std::size_t position = 1; position <= samples.size(); ++position) {
        tokens += samples[position - 1].length;
        if (position < samples.size() && tokens + samples[position].length <= max_tokens) continue;
        positions.push_back(position);
        tokens = 0;
    }
    return positions;
}

// A micro-batch in ranges_by_end_[n], which ends at cut position number n.
struct TimedRange {
    std::size_t begin = 0;  // number of the cut position where the micro-batch begins
    MicrobatchTime time;
};

// The cut with the smallest load among the cuts whose micro-batches take at most a given time.
struct BestCut {
    std::int64_t load = unreachable;  // sum of the loads of the micro-batches
    std::vector<SampleRange> ranges;  // empty if there is no such cut
};

// Finds the best cut of one step.
class SampleCutter {
public:
    SampleCutter(const std::vector<StepSample>& samples, const CutLimits& limits, MicrobatchTimer& timer,
                 const FindWork& find_work)
        : samples_(samples),
          limits_(limits),
          timer_(timer),
          find_work_(find_work),
          fill_weight_((limits.stages - 1) * static_cast<std::int64_t>(limits.max_microbatches)),
          shapes_(samples, limits.rules.is_packed),
          positions_(list_cut_positions(samples, limits)) {}

    std::vector<SampleRange> find_best() {
        check_lengths();
        const std::int64_t infeasible_time = find_infeasible_time();
        std::vector<SampleRange> best = std::move(greedy_cut_);
        std::int64_t best_objective = compute_objective(best);
        list_timed_ranges(fill_weight_ == 0 ? unlimited : best_objective / fill_weight_);
        for (const std::int64_t time : list_largest_times(infeasible_time)) {
            if (compute_fill(time) >= best_objective) break;
            BestCut cut = cut_freely(time);
            if (cut.ranges.empty()) continue;
            if (compute_fill(time) + cut.load >= best_objective) continue;
            if (cut.ranges.size() > limits_.max_microbatches) cut = cut_into_few(time);
            if (cut.ranges.empty()) continue;
            if (compute_fill(time) + cut.load >= best_objective) continue;
            const std::int64_t objective = compute_objective(cut.ranges);
            if (objective >= best_objective) continue;
            best_objective = objective;
            best = std::move(cut.ranges);
        }
        for (SampleRange& range : best) range = {positions_[range.begin], positions_[range.end]};
        return best;
    }

private:
    static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

    void check_lengths() const {
        const StepSample& longest = samples_.back();
        if (longest.length <= limits_.rules.max_rows) return;
        throw ConfigError(cat("sample ", longest.visit.sample, " has ", format_with_commas(longest.length),
                              " tokens, but memory suffices for micro-batches of ",
                              format_with_commas(limits_.rules.max_rows), " tokens only"));
    }

    // Until find_best() returns, SampleRange::begin and SampleRange::end are indices in positions_, not indices
    // of samples.
    std::size_t count_positions() const { return positions_.size() - 1; }  // without position 0
    plan::MicrobatchShape find_shape(SampleRange range) const {
        return shapes_.find({positions_[range.begin], positions_[range.end]});
    }
    MicrobatchTime find_time(SampleRange range) { return timer_.find(find_shape(range)); }
    bool fits(SampleRange range) const { return find_shape(range).rows <= limits_.rules.max_rows; }

    // Returns the cut with the fewest micro-batches whose slowest stage takes at most `max_time`. Returns
    // nothing if a group of samples does not fit, or if the cut has more micro-batches than the plan. Makes the
    // micro-batch with the longest samples first.
    std::optional<std::vector<SampleRange>> cut_greedily(std::int64_t max_time) {
        std::vector<SampleRange> ranges;
        std::size_t end = count_positions();
        while (end > 0) {
            SampleRange range{end - 1, end};
            if (!fits(range) || find_time(range).slowest_stage > max_time) return std::nullopt;
            while (range.begin > 0) {
                const SampleRange longer{range.begin - 1, end};
                if (!fits(longer) || find_time(longer).slowest_stage > max_time) break;
                range = longer;
            }
            ranges.push_back(range);
            if (ranges.size() > limits_.max_microbatches) return std::nullopt;
            end = range.begin;
        }
        std::ranges::reverse(ranges);
        return ranges;
    }

    // Returns a time for which cut_greedily() finds no cut. Sets `greedy_cut_` to a cut whose slowest
    // micro-batch takes only slightly longer than this time.
    std::int64_t find_infeasible_time() {
        std::optional<std::vector<SampleRange>> cut = cut_greedily(unlimited);
        if (!cut) {  // cuts between groups of samples need too many micro-batches
            positions_ = list_all_positions(samples_.size());
            cut = cut_greedily(unlimited);
        }
        if (!cut) {
            throw ConfigError(cat("--microbatches gives ", limits_.max_microbatches,
                                  " micro-batches per step, too few to keep each one within ",
                                  format_with_commas(limits_.rules.max_rows), " tokens; raise --microbatches"));
        }
        greedy_cut_ = std::move(*cut);
        std::int64_t feasible_time = find_largest_time(greedy_cut_);
        std::int64_t infeasible_time = find_time({count_positions() - 1, count_positions()}).slowest_stage - 1;
        while (feasible_time - infeasible_time > 1 + infeasible_time / 256) {
            const std::int64_t middle = infeasible_time + (feasible_time - infeasible_time) / 2;
            cut = cut_greedily(middle);
            (cut ? feasible_time : infeasible_time) = middle;
            if (cut) greedy_cut_ = std::move(*cut);
        }
        return infeasible_time;
    }

    std::int64_t find_largest_time(const std::vector<SampleRange>& ranges) {
        std::int64_t largest = 0;
        for (const SampleRange& range : ranges) largest = std::max(largest, find_time(range).slowest_stage);
        return largest;
    }

    // Returns the first term of the objective of cut_samples().
    std::int64_t compute_fill(std::int64_t largest_time) const { return fill_weight_ * largest_time; }

    std::int64_t compute_objective(const std::vector<SampleRange>& ranges) {
        std::vector<std::int64_t> loads;
        for (const SampleRange& range : ranges) loads.push_back(find_time(range).load);
        return compute_fill(find_largest_time(ranges)) + find_work_(loads);
    }

    // Fills ranges_by_end_ with all micro-batches that fit and take at most `max_time`.
    void list_timed_ranges(std::int64_t max_time) {
        ranges_by_end_.assign(positions_.size(), {});
        for (std::size_t end = 1; end < positions_.size(); ++end) {
            for (std::size_t begin = end; begin-- > 0;) {
                if (!fits({begin, end})) break;
                const MicrobatchTime time = find_time({begin, end});
                if (time.slowest_stage > max_time) break;
                ranges_by_end_[end].push_back({begin, time});
            }
        }
    }

    // Returns candidates for the largest time of a micro-batch, in ascending order. Each candidate is the time
    // of a micro-batch in ranges_by_end_, above `infeasible_time`. If there are many candidates, those that are
    // only slightly shorter than the next one are omitted.
    std::vector<std::int64_t> list_largest_times(std::int64_t infeasible_time) const {
        constexpr std::int64_t max_candidates = 64;
        std::vector<std::int64_t> times;
        for (const std::vector<TimedRange>& ranges : ranges_by_end_)
            for (const TimedRange& range : ranges)
                if (range.time.slowest_stage > infeasible_time) times.push_back(range.time.slowest_stage);
        std::ranges::sort(times);
        const auto duplicates = std::ranges::unique(times);
        times.erase(duplicates.begin(), duplicates.end());
        if (std::ssize(times) <= max_candidates) return times;
        const std::int64_t distance = (times.back() - times.front()) / max_candidates;
        std::vector<std::int64_t> candidates;
        for (auto time = times.rbegin(); time != times.rend(); ++time)
            if (candidates.empty() || candidates.back() - *time >= distance) candidates.push_back(*time);
        std::ranges::reverse(candidates);
        return candidates;
    }

    // Returns the cut with the smallest load among the cuts whose micro-batches take at most `max_time`. The
    // number of micro-batches is not limited.
    BestCut cut_freely(std::int64_t max_time) const {
        // Entry n is the smallest load of a cut of the samples up to position n.
        std::vector<std::int64_t> loads(positions_.size(), unreachable);
        std::vector<std::size_t> begins(positions_.size());  // entry n: begin of this cut's last micro-batch
        loads[0] = 0;
        for (std::size_t end = 1; end < positions_.size(); ++end) {
            for (const TimedRange& range : ranges_by_end_[end]) {
                if (range.time.slowest_stage > max_time) break;
                const std::int64_t load = loads[range.begin] + range.time.load;
                if (load > loads[end]) continue;  // with equal loads, the longer micro-batch is chosen
                loads[end] = load;
                begins[end] = range.begin;
            }
        }
        BestCut cut{.load = loads.back(), .ranges = {}};
        if (cut.load >= unreachable) return {};
        for (std::size_t end = count_positions(); end > 0; end = begins[end])
            cut.ranges.push_back({begins[end], end});
        std::ranges::reverse(cut.ranges);
        return cut;
    }

    // Does the same as cut_freely(), but with at most limits_.max_microbatches micro-batches.
    BestCut cut_into_few(std::int64_t max_time) const {
        const std::size_t columns = positions_.size();
        // Entry n is the smallest load of a cut of the samples up to position n into `count` micro-batches.
        std::vector<std::int64_t> loads(columns, unreachable);
        loads[0] = 0;
        std::vector<std::vector<std::size_t>> begins;  // [count - 1][n]: begin of this cut's last micro-batch
        std::size_t best_count = 0;
        std::int64_t best_load = unreachable;
        for (std::size_t count = 1; count <= limits_.max_microbatches; ++count) {
            std::vector<std::int64_t> next_loads(columns, unreachable);
            std::vector<std::size_t>& next_begins = begins.emplace_back(columns);
            for (std::size_t end = 1; end < columns; ++end) {
                for (const TimedRange& range : ranges_by_end_[end]) {
                    if (range.time.slowest_stage > max_time) break;
                    const std::int64_t load = loads[range.begin] + range.time.load;
                    if (load >= next_loads[end]) continue;
                    next_loads[end] = load;
                    next_begins[end] = range.begin;
                }
            }
            loads = std::move(next_loads);
            if (loads.back() >= best_load) continue;
            best_load = loads.back();
            best_count = count;
        }
        BestCut cut{.load = best_load, .ranges = {}};
        std::size_t end = count_positions();
        for (std::size_t count = best_count; count > 0; --count) {
            const std::size_t begin = begins[count - 1][end];
            cut.ranges.push_back({begin, end});
            end = begin;
        }
        std::ranges::reverse(cut.ranges);
        return cut;
    }

    const std::vector<StepSample>& samples_;
    const CutLimits& limits_;
    MicrobatchTimer& timer_;
    const FindWork& find_work_;
    std::int64_t fill_weight_;
    RangeShapes shapes_;
    std::vector<std::size_t> positions_;
    std::vector<SampleRange> greedy_cut_;
    std::vector<std::vector<TimedRange>> ranges_by_end_;  // [n]: by descending `begin`
};

}  // namespace

RangeShapes::RangeShapes(const std::vector<StepSample>& sorted_samples, bool is_packed)
    : samples_(sorted_samples), is_packed_(is_packed), sums_(1) {
    for (const StepSample& sample : samples_) {
        plan::MicrobatchShape sum = sums_.back();
        ++sum.samples;
        sum.tokens += sample.length;
        sum.square_length_sum += sample.length * sample.length;
        sum.predicted_rows += sample.predicted_rows;
        sums_.push_back(sum);
    }
}

plan::MicrobatchShape RangeShapes::find(SampleRange range) const {
    const plan::MicrobatchShape& before = sums_[range.begin];
    const plan::MicrobatchShape& after = sums_[range.end];
    plan::MicrobatchShape shape{.samples = after.samples - before.samples,
                                .tokens = after.tokens - before.tokens,
                                .square_length_sum = after.square_length_sum - before.square_length_sum,
                                .predicted_rows = after.predicted_rows - before.predicted_rows};
    shape.rows = is_packed_ ? shape.tokens : shape.samples * samples_[range.end - 1].length;
    return shape;
}

std::vector<SampleRange> cut_samples(const std::vector<StepSample>& samples, const CutLimits& limits,
                                     MicrobatchTimer& timer, const FindWork& find_work) {
    return SampleCutter(samples, limits, timer, find_work).find_best();
}

std::size_t count_fewest_microbatches(std::vector<std::size_t> lengths, const MicrobatchRules& rules) {
    std::ranges::sort(lengths, std::greater{});
    std::size_t microbatches = 0;
    for (std::size_t begin = 0; begin < lengths.size(); ++microbatches) {
        std::size_t end = begin;
        std::size_t packed_rows = 0;
        const auto fits = [&](std::size_t length) {
            const std::size_t padded_rows = (end - begin + 1) * lengths[begin];
            return (rules.is_packed ? packed_rows + length : padded_rows) <= rules.max_rows;
        };
        while (end < lengths.size() && (end == begin || fits(lengths[end]))) packed_rows += lengths[end++];
        begin = end;
    }
    return microbatches;
}

}  // namespace trireme::policy
