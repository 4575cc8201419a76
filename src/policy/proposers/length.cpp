#include "trireme/policy/length.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include "policy/proposers/cut_layout.hpp"
#include "policy/proposers/cut_stages.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::policy {
namespace {

constexpr int parts_per_octave = 4;

// Returns the index of the part of an octave that contains a length of at least 1 token.
int find_octave_part(double length) {
    return static_cast<int>(std::floor(parts_per_octave * std::log2(length)));
}

// Returns the smallest integer of a part, or its lower bound if it contains no integer.
double find_min_length(int part) {
    const double bound = std::exp2(static_cast<double>(part) / parts_per_octave);
    const double length = std::ceil(bound);
    return find_octave_part(length) == part ? length : bound;
}

double add_lengths(const std::vector<std::uint32_t>& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), 0.0);
}

// The steps ahead that are in a class.
struct ClassSteps {
    LengthClass length_class;
    std::size_t samples_per_step = 0;  // of the first step
    std::size_t samples = 0;           // of all steps
    double tokens = 0;                 // of all steps
    double longest = 0;                // of all steps
};

std::vector<ClassSteps> list_length_classes(const std::vector<plan::StepAhead>& steps) {
    std::vector<ClassSteps> classes;
    for (const plan::StepAhead& step : steps) {
        if (step.lengths.empty()) continue;
        const LengthClass length_class = find_length_class(step.lengths);
        auto found = std::ranges::find(classes, length_class, &ClassSteps::length_class);
        if (found == classes.end()) {
            found =
                classes.insert(found, {.length_class = length_class, .samples_per_step = step.lengths.size()});
        }
        found->samples += step.lengths.size();
        found->tokens += add_lengths(step.lengths);
        found->longest = std::max<double>(found->longest, std::ranges::max(step.lengths));
    }
    return classes;
}

// Returns a step with one longest sample and samples of equal length, which has the smallest longest sample and
// approximately the smallest mean length of the class.
plan::StepAhead make_typical_step(const LengthClass& length_class, std::size_t samples) {
    const double longest = find_min_length(length_class.longest);
    const double tokens = find_min_length(length_class.mean) * static_cast<double>(samples);
    const double others = (tokens - longest) / static_cast<double>(std::max<std::size_t>(2, samples) - 1);
    const auto to_length = [&](double tokens_per_sample) {
        return static_cast<std::uint32_t>(std::lround(std::clamp(tokens_per_sample, 1.0, longest)));
    };
    plan::StepAhead step{.lengths = std::vector<std::uint32_t>(samples, to_length(others))};
    step.lengths.front() = to_length(longest);
    return step;
}

// Proposes layouts, and remembers those of recent classes.
class LengthProposer {
public:
    explicit LengthProposer(LengthRules rules) : rules_(std::move(rules)) {}

    std::vector<Candidate> propose(const plan::Observation& observed, const Candidate& candidate) {
        const std::vector<double> slowness = list_team_slowness(rules_, observed);
        std::vector<Candidate> candidates;
        for (const ClassSteps& steps : list_length_classes(observed.ahead)) {
            for (const layout::Layout& layout : find_layouts({.length_class = steps.length_class,
                                                .samples = steps.samples_per_step,
                                                .microbatches = candidate.microbatches,
                                                .slowness = slowness})) {
                if (std::ranges::find(candidates, layout, &Candidate::layout) != candidates.end()) continue;
                candidates.push_back(candidate);
                candidates.back().layout = layout;
                candidates.back().causes.push_back(make_cause(steps));
            }
        }
        return candidates;
    }

private:
    // Everything on which layouts depend, in addition to the rules.
    struct LayoutKey {
        LengthClass length_class;
        std::size_t samples = 0;  // per step
        int microbatches = 0;
        std::vector<double> slowness;  // per team

        friend auto operator<=>(const LayoutKey&, const LayoutKey&) = default;
    };

    static Cause make_cause(const ClassSteps& steps) {
        return {
            .proposer = "length",
            .reason = "samples of up to " + format_count(static_cast<std::uint64_t>(steps.longest), "token"),
            .terms = {{"longest", steps.longest}, {"mean", steps.tokens / static_cast<double>(steps.samples)}}};
    }

    // Returns the layouts with the best cuts. They remain valid until the next call.
    const std::vector<layout::Layout>& find_layouts(const LayoutKey& key) {
        constexpr std::size_t max_remembered = 64;
        if (const auto found = layouts_.find(key); found != layouts_.end()) return found->second;
        if (layouts_.size() >= max_remembered) layouts_.clear();
        LengthCosts costs = rules_.costs(make_typical_step(key.length_class, key.samples), key.microbatches);
        const bool are_equally_fast =
            std::ranges::count(key.slowness, key.slowness[0]) == std::ssize(key.slowness);
        std::vector<layout::Layout>& layouts = layouts_[key];
        for (const StageCut& cut : find_best_cuts({.layer_seconds = std::move(costs.layer_seconds),
                                   .reduce_seconds = rules_.reduce_seconds,
                                   .slowness = key.slowness,
                                   .microbatches = key.microbatches,
                                   .send_seconds = costs.send_seconds,
                                   .cuts = rules_.cuts})) {
            layouts.push_back(make_cut_layout(rules_, cut, order_by_stage(cut)));
            if (are_equally_fast) layouts.push_back(make_cut_layout(rules_, cut, order_by_pipeline(cut)));
        }
        return layouts;
    }

    LengthRules rules_;
    std::map<LayoutKey, std::vector<layout::Layout>> layouts_ = {};
};

}  // namespace

LengthClass find_length_class(const std::vector<std::uint32_t>& lengths) {
    const double longest = std::max(1U, std::ranges::max(lengths));
    const double mean = std::max(1.0, add_lengths(lengths) / static_cast<double>(lengths.size()));
    return {find_octave_part(longest), find_octave_part(mean)};
}

Proposer make_length_proposer(LengthRules rules) {
    const auto proposer = std::make_shared<LengthProposer>(std::move(rules));
    return [proposer](const plan::Observation& observed, const Candidate& candidate) {
        return proposer->propose(observed, candidate);
    };
}

}  // namespace trireme::policy
