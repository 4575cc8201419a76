#include "policy/steps/cut_samples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <limits>
#include <numeric>
#include <optional>

#include "error_message.hpp"
#include "policy/steps/share_evenly.hpp"
#include "trireme/base/error.hpp"
#include "unit/schedule/program_damage.hpp"

namespace trireme::policy {
namespace {

using schedule::Draw;
using validation::catch_message;
using validation::says;
using Cut = std::vector<SampleRange>;

// Returns the kernels of a pass whose calls take `factors[0]` ns, and the other factors times the rows, the sum
// of the squared lengths and the rows with a target.
plan::PassFormula make_timed_pass(const std::array<double, 4>& factors) {
    const auto kernel = [&](std::array<double, plan::LinearQuantity::terms> bytes, bool is_in_tiles) {
        return plan::KernelFormula{.kernel = "timed", .bytes = {bytes}, .is_in_tiles = is_in_tiles};
    };
    return {.kernels = {kernel({factors[0], 0, factors[1], 0, 0, 0}, false),
                        kernel({factors[0], 0, 0, 0, factors[2], 0}, false),
                        kernel({factors[0], 0, 0, 0, 0, factors[3]}, true)}};
}

std::int64_t add_loads(const std::vector<std::int64_t>& loads) {
    return std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
}

// A step with random samples and kernel times.
class DrawnStep {
public:
    DrawnStep(std::size_t samples, int stages, int microbatches, MicrobatchRules rules, Draw& draw)
        : rules_(rules), shape_(draw_shape(stages, microbatches, draw)) {
        draw_samples(samples, draw);
        draw_stages(draw);
        if (rules.max_rows == 0) return;
        const std::size_t longest = samples_.back().length;
        rules_.max_rows = longest + draw.below(2 * longest);  // a tight limit
    }

    const std::vector<StepSample>& samples() const { return samples_; }
    std::vector<std::size_t> lengths() const {
        std::vector<std::size_t> lengths;
        for (const StepSample& sample : samples_) lengths.push_back(sample.length);
        return lengths;
    }
    std::size_t max_microbatches() const { return static_cast<std::size_t>(shape_.microbatches); }

    Cut cut() {
        MicrobatchTimer timer(shape_, stages_);
        return cut_samples(samples_, limits(), timer, &add_loads);
    }

    // Returns the value that cut_samples() minimizes, or nothing if the limits do not allow the cut.
    std::optional<std::int64_t> compute_objective(const Cut& cut) {
        if (cut.size() > max_microbatches()) return std::nullopt;
        std::int64_t largest_time = 0;
        std::int64_t load = 0;
        for (const SampleRange& range : cut) {
            const plan::MicrobatchShape shape = add_up(range);
            if (shape.rows > limits().rules.max_rows) return std::nullopt;
            std::vector<std::int64_t> times;
            for (const std::size_t index : stages_.index_of_stage)
                times.push_back(stages_.sums[index].find(shape).sum());
            largest_time = std::max(largest_time, *std::ranges::max_element(times));
            load += find_load(times);
        }
        return (shape_.stages() - 1) * shape_.microbatches * largest_time + load;
    }

    // Returns the best of all cuts, or nothing if the limits allow none.
    std::optional<std::int64_t> find_best_objective() {
        std::optional<std::int64_t> best;
        for (unsigned ends = 0; ends < 1U << (samples_.size() - 1); ++ends) {
            const std::optional<std::int64_t> objective = compute_objective(cut_after(ends));
            if (objective && (!best || *objective < *best)) best = objective;
        }
        return best;
    }

    std::size_t find_fewest_microbatches() {
        std::size_t fewest = samples_.size();
        for (unsigned ends = 0; ends < 1U << (samples_.size() - 1); ++ends) {
            const Cut cut = cut_after(ends);
            const bool fits = std::ranges::all_of(
                cut, [&](SampleRange range) { return add_up(range).rows <= limits().rules.max_rows; });
            if (fits) fewest = std::min(fewest, cut.size());
        }
        return fewest;
    }

    // `lengths` is sorted.
    void set_lengths(const std::vector<std::size_t>& lengths, std::size_t max_rows) {
        rules_.max_rows = max_rows;
        for (std::size_t s = 0; s < samples_.size(); ++s)
            samples_[s].length = samples_[s].predicted_rows = lengths[s];
    }

    CutLimits limits() const {
        CutLimits limits{.rules = rules_, .max_microbatches = max_microbatches(), .stages = shape_.stages()};
        if (rules_.max_rows == 0) limits.rules.max_rows = 1'000'000;
        return limits;
    }

private:
    static schedule::PipelineShape draw_shape(int stages, int microbatches, Draw& draw) {
        if (stages % 2 == 0 && draw.one_in(3))
            return schedule::make_grid_shape(stages / 2, 1, 2, microbatches);  // two stages per team
        std::vector<int> replicas;
        for (int stage = 0; stage < stages; ++stage) replicas.push_back(draw.within(1, 3));
        return schedule::make_uneven_shape(replicas, microbatches);
    }

    void draw_samples(std::size_t count, Draw& draw) {
        const bool predicts_few = draw.one_in(2);
        for (std::size_t s = 0; s < count; ++s) {
            const std::size_t length = 1 + draw.below(draw.one_in(3) ? 300 : 40);
            samples_.push_back({.visit = {.epoch = 0, .sample = s},
                                .length = length,
                                .predicted_rows = predicts_few ? draw.below(length) : length});
        }
        std::ranges::sort(samples_, {}, &StepSample::length);
    }

    // Some stages have the work of the stage before.
    void draw_stages(Draw& draw) {
        const auto draw_pass = [&] {
            return make_timed_pass({static_cast<double>(draw.below(3) * draw.below(1000)),
                                    static_cast<double>(draw.below(50)), 0.01 * draw.within(0, 50),
                                    static_cast<double>(draw.below(50))});
        };
        for (int stage = 0; stage < shape_.stages(); ++stage) {
            if (stage == 0 || !draw.one_in(3)) {
                const std::vector<plan::TrainingFormulas> formulas{
                    {.forward = draw_pass(), .backward = draw_pass()}};
                stages_.sums.emplace_back(
                    works_.emplace_back(formulas, 100), false,
                    [](std::string_view, const plan::KernelCall& call) { return 1e-9 * call.bytes; });
            }
            stages_.index_of_stage.push_back(stages_.sums.size() - 1);
        }
    }

    // Bit n of `ends` is set if a micro-batch ends after sample n.
    Cut cut_after(unsigned ends) const {
        Cut cut{{0, 0}};
        for (std::size_t s = 0; s < samples_.size(); ++s) {
            cut.back().end = s + 1;
            if ((ends >> s & 1U) != 0) cut.push_back({s + 1, s + 1});
        }
        return cut;
    }

    plan::MicrobatchShape add_up(SampleRange range) const {
        plan::MicrobatchShape shape;
        std::size_t longest = 0;
        for (std::size_t s = range.begin; s < range.end; ++s) {
            const std::size_t length = samples_[s].length;
            longest = std::max(longest, length);
            shape.samples += 1;
            shape.tokens += length;
            shape.square_length_sum += length * length;
            shape.predicted_rows += samples_[s].predicted_rows;
        }
        shape.rows = rules_.is_packed ? shape.tokens : shape.samples * longest;
        return shape;
    }

    // Returns the time that the busiest team would take if all micro-batches of a step took `times`.
    std::int64_t find_load(const std::vector<std::int64_t>& times) const {
        std::vector<std::int64_t> loads(static_cast<std::size_t>(shape_.teams));
        for (std::size_t stage = 0; stage < times.size(); ++stage)
            for (const int team : shape_.executor[stage]) loads[static_cast<std::size_t>(team)] += times[stage];
        return *std::ranges::max_element(loads);
    }

    MicrobatchRules rules_;  // max_rows is 0 if memory suffices for everything
    schedule::PipelineShape shape_;
    std::vector<StepSample> samples_;
    std::deque<plan::StageWork> works_;
    StageSums stages_;
};

void expect_covers(const Cut& cut, std::size_t samples) {
    std::size_t end = 0;
    for (const SampleRange& range : cut) {
        EXPECT_EQ(range.begin, end);
        EXPECT_GT(range.end, range.begin);
        end = range.end;
    }
    EXPECT_EQ(end, samples);
}

// Returns `count` micro-batches whose numbers of samples differ by at most one.
Cut cut_equally(std::size_t samples, std::size_t count) {
    Cut cut;
    for (std::size_t m = 0; m < count; ++m) cut.push_back({samples * m / count, samples * (m + 1) / count});
    return cut;
}

// Calls `check` with random steps of all numbers of stages and micro-batches, padded and packed, with and
// without a tight limit of rows.
template <class Check>
void draw_steps(std::size_t samples, int max_microbatches, int repeats, Check&& check) {
    Draw draw(RandomKey{20261128}.then("cut").then(samples));
    for (int repeat = 0; repeat < repeats; ++repeat)
        for (const bool is_packed : {false, true})
            for (const std::size_t has_limit : {0, 1})
                for (int stages = 1; stages <= 4; ++stages)
                    for (int microbatches = 1; microbatches <= max_microbatches; ++microbatches) {
                        SCOPED_TRACE(cat("repeat ", repeat, ", packed ", is_packed, ", limit ", has_limit,
                                         ", stages ", stages, ", micro-batches ", microbatches));
                        DrawnStep step(samples, stages, microbatches,
                                       {.is_packed = is_packed, .max_rows = has_limit}, draw);
                        check(step);
                    }
}

TEST(CutSamples, FindsTheBestOfAllCuts) {
    draw_steps(8, 8, 8, [](DrawnStep& step) {
        const std::optional<std::int64_t> best = step.find_best_objective();
        if (!best) {
            EXPECT_TRUE(says(catch_message<ConfigError>([&] { step.cut(); }), "raise --microbatches"));
            return;
        }

        const Cut cut = step.cut();

        expect_covers(cut, step.samples().size());
        EXPECT_EQ(step.compute_objective(cut), best);
    });
}

// Groups of samples, which are cut only as a whole if there are many, would need a third micro-batch.
TEST(CutSamples, FitsManySamplesOfEqualLengthWithoutSlack) {
    Draw draw(RandomKey{20261128}.then("equal lengths"));
    for (const std::size_t count : {66U, 200U, 400U}) {
        DrawnStep step(count, 2, 2, {.is_packed = true}, draw);
        step.set_lengths(std::vector<std::size_t>(count, 48), count / 2 * 48);

        expect_covers(step.cut(), count);
        EXPECT_EQ(step.cut().size(), 2U);
    }
}

// The 64 short samples and a long one have few tokens, but many rows with padding.
TEST(CutSamples, PadsNoGroupOfSamplesBeyondTheLimit) {
    Draw draw(RandomKey{20261128}.then("group"));
    DrawnStep step(104, 2, 2, {}, draw);
    std::vector<std::size_t> lengths(104, 640);
    std::fill_n(lengths.begin(), 64, 1);
    step.set_lengths(lengths, 40 * 640);

    const Cut cut = step.cut();

    expect_covers(cut, lengths.size());
    EXPECT_TRUE(step.compute_objective(cut)) << "a micro-batch exceeds the limit";
}

TEST(CutSamples, IsNotWorseThanEqualNumbersOfSamples) {
    draw_steps(60, 16, 1, [](DrawnStep& step) {
        if (count_fewest_microbatches(step.lengths(), step.limits().rules) > step.max_microbatches()) return;

        const Cut cut = step.cut();

        expect_covers(cut, step.samples().size());
        const std::optional<std::int64_t> objective = step.compute_objective(cut);
        ASSERT_TRUE(objective);
        for (std::size_t count = 1; count <= step.max_microbatches(); ++count) {
            const Cut equal = cut_equally(step.samples().size(), count);
            EXPECT_LE(*objective, step.compute_objective(equal).value_or(*objective)) << count;
        }
    });
}

TEST(CutSamples, NeedsAsFewMicrobatchesAsCounted) {
    draw_steps(8, 1, 10, [](DrawnStep& step) {
        EXPECT_EQ(count_fewest_microbatches(step.lengths(), step.limits().rules),
                  step.find_fewest_microbatches());
    });
}

TEST(CutSamples, AddsUpTheCountsOfARange) {
    const std::vector<StepSample> samples{{.visit = {}, .length = 2, .predicted_rows = 1},
                                          {.visit = {}, .length = 3, .predicted_rows = 3},
                                          {.visit = {}, .length = 5, .predicted_rows = 4}};
    const plan::MicrobatchShape last_two{
        .samples = 2, .rows = 10, .tokens = 8, .square_length_sum = 34, .predicted_rows = 7};
    plan::MicrobatchShape packed = last_two;
    packed.rows = 8;

    EXPECT_EQ(RangeShapes(samples, false).find({1, 3}), last_two);
    EXPECT_EQ(RangeShapes(samples, true).find({1, 3}), packed);
}

// Finds the smallest possible sum of the heaviest part.
class BestSharing {
public:
    BestSharing(const std::vector<std::int64_t>& weights, std::size_t parts, std::size_t max_items)
        : weights_(weights), max_items_(max_items), sums_(parts), counts_(parts) {}

    std::int64_t find_heaviest() {
        place(0);
        return best_;
    }

private:
    void place(std::size_t item) {
        if (item == weights_.size()) {
            best_ = std::min(best_, *std::ranges::max_element(sums_));
            return;
        }
        bool was_empty = false;  // empty parts are equal, so the first one suffices
        for (std::size_t part = 0; part < sums_.size() && !was_empty; ++part) {
            was_empty = counts_[part] == 0;
            if (counts_[part] == max_items_) continue;
            ++counts_[part];
            sums_[part] += weights_[item];
            place(item + 1);
            sums_[part] -= weights_[item];
            --counts_[part];
        }
    }

    const std::vector<std::int64_t>& weights_;
    std::size_t max_items_;
    std::vector<std::int64_t> sums_;
    std::vector<std::size_t> counts_;
    std::int64_t best_ = std::numeric_limits<std::int64_t>::max();
};

TEST(ShareEvenly, ComesCloseToTheBestDistribution) {
    Draw draw(RandomKey{20261128}.then("share"));
    for (int trial = 0; trial < 1000; ++trial) {
        const std::size_t parts = 2 + draw.below(3);
        const std::size_t max_weight = draw.one_in(2) ? 10 : 1'000'000;
        std::vector<std::int64_t> weights;
        for (std::size_t count = 1 + draw.below(8); count > 0; --count)
            weights.push_back(static_cast<std::int64_t>(1 + draw.below(max_weight)));
        const std::size_t min_items = (weights.size() + parts - 1) / parts;
        const std::size_t max_items = min_items + draw.below(weights.size() - min_items + 1);
        SCOPED_TRACE(cat("parts ", parts, ", at most ", max_items, " of ", testing::PrintToString(weights)));

        const auto shared = share_evenly(weights, parts, max_items);

        EXPECT_EQ(shared.size(), parts);
        std::vector<std::size_t> all_items;
        std::int64_t heaviest = 0;
        for (const auto& [sum_of_items, items] : shared) {
            std::int64_t sum = 0;
            for (const std::size_t item : items) sum += weights.at(item);
            EXPECT_EQ(sum_of_items, sum);
            heaviest = std::max(heaviest, sum);
            EXPECT_LE(items.size(), max_items);
            all_items.insert(all_items.end(), items.begin(), items.end());
        }
        std::ranges::sort(all_items);
        std::vector<std::size_t> expected_items(weights.size());
        std::iota(expected_items.begin(), expected_items.end(), 0);
        EXPECT_EQ(all_items, expected_items);
        const std::int64_t best = BestSharing(weights, parts, max_items).find_heaviest();
        const std::int64_t total = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
        const double limit = 4.0 / 3 * static_cast<double>(total) / static_cast<double>(parts);
        EXPECT_TRUE(heaviest == best || static_cast<double>(heaviest) <= limit)
            << heaviest << ", best " << best;
    }
}

}  // namespace
}  // namespace trireme::policy
