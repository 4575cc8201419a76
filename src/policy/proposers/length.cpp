#include "trireme/policy/length.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <map>
#include <memory>
#include <numeric>
#include <set>
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
        const std::vector<ClassSteps> classes = list_length_classes(observed.ahead);
        if (layout_numbers_.size() + classes.size() > max_remembered_classes) {
            layout_numbers_.clear();
            layouts_.clear();
        }
        std::vector<Candidate> candidates;
        std::set<std::size_t> proposed_numbers;
        for (const ClassSteps& steps : classes) {
            for (const std::size_t number : find_layout_numbers({.length_class = steps.length_class,
                                            .samples = steps.samples_per_step,
                                            .microbatches = candidate.microbatches,
                                            .slowness = slowness})) {
                if (!proposed_numbers.insert(number).second) continue;
                candidates.push_back({.layout = layouts_[number],
                                      .microbatches = candidate.microbatches,
                                      .schedule = candidate.schedule,
                                      .causes = candidate.causes});
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

    static constexpr std::size_t max_remembered_classes = 64;

    // Returns the indices in layouts_ of the layouts with the best cuts.
    const std::vector<std::size_t>& find_layout_numbers(const LayoutKey& key) {
        const auto [known, is_new] = layout_numbers_.try_emplace(key);
        std::vector<std::size_t>& numbers = known->second;
        if (!is_new) return numbers;
        const auto add = [&](SharedLayout layout) {
            const auto same = std::ranges::find(layouts_, layout);
            numbers.push_back(static_cast<std::size_t>(same - layouts_.begin()));
            if (same == layouts_.end()) layouts_.push_back(std::move(layout));
        };
        LengthCosts costs = rules_.costs(make_typical_step(key.length_class, key.samples), key.microbatches);
        const bool are_equally_fast =
            std::ranges::count(key.slowness, key.slowness[0]) == std::ssize(key.slowness);
        for (const StageCut& cut : find_best_cuts({.layer_seconds = std::move(costs.layer_seconds),
                                   .reduce_seconds = rules_.reduce_seconds,
                                   .slowness = key.slowness,
                                   .microbatches = key.microbatches,
                                   .send_seconds = costs.send_seconds,
                                   .cuts = rules_.cuts})) {
            add(make_cut_layout(rules_, cut, order_by_stage(cut)));
            if (are_equally_fast) add(make_cut_layout(rules_, cut, order_by_pipeline(cut)));
        }
        return numbers;
    }

    LengthRules rules_;
    std::vector<SharedLayout> layouts_ = {};  // the different layouts of the remembered classes
    std::map<LayoutKey, std::vector<std::size_t>> layout_numbers_ = {};
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
