#include "trireme/policy/uneven.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policy/gathering.hpp"
#include "policy/of_ranks.hpp"
#include "policy/slowness_words.hpp"
#include "policy/spread.hpp"
#include "policy/step_seconds.hpp"
#include "policy/team_pace.hpp"
#include "trireme/layout/best_cut.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::policy {
namespace {

// Returns shares as the smallest integers, e.g. 8, 1.
Shares in_proportion_to_speed(const Shares& healthy, const std::vector<double>& slowness) {
    if (std::ranges::all_of(slowness, [](double factor) { return factor == 1; })) return healthy;
    constexpr double of_the_largest = 1000;
    std::vector<double> speeds;
    for (std::size_t r = 0; r < healthy.size(); ++r)
        speeds.push_back(static_cast<double>(healthy[r]) / slowness[r]);
    const double most = *std::ranges::max_element(speeds);
    Shares shares;
    std::size_t divisor = 0;
    for (const double speed : speeds) {
        shares.push_back(static_cast<std::size_t>(std::max(1L, std::lround(of_the_largest * speed / most))));
        divisor = std::gcd(divisor, shares.back());
    }
    for (std::size_t& share : shares) share /= divisor;
    return shares;
}

bool nobody_is_slow(const plan::Observation& observed) {
    return std::ranges::all_of(observed.slowness, [](double factor) { return factor == 1; });
}

layout::Layout with_even_shares(layout::Layout layout) {
    for (layout::StageLayout& stage : layout.stages) {
        for (layout::ReplicaLayout& replica : stage.replicas) {
            std::ranges::fill(replica.shares, 1);
            replica.turns = 1;
        }
    }
    return layout;
}

std::size_t all_layers(const UnevenRules& rules, const plan::Plan& plan) {
    return rules.layers.empty() ? plan.layout.layers : rules.layers.size();
}

// The evaluation of one decision.
class Look {
public:
    Look(const UnevenRules& rules, const plan::Observation& observed, const plan::Plan& current)
        : rules_(rules),
          observed_(observed),
          current_(current),
          healthy_(rules.healthy.stages.empty() ? with_even_shares(current.layout) : rules.healthy),
          work_(rules.layers.empty() ? std::vector<LayerWork>(all_layers(rules, current)) : rules.layers),
          paces_(observed, current, work_, rules) {}

    double seconds_now() const {
        StagePaces paces;
        for (const layout::StageLayout& stage : current_.layout.stages) {
            auto& replicas = paces.emplace_back();
            for (const layout::ReplicaLayout& replica : stage.replicas) {
                const auto team = static_cast<std::size_t>(current_.team_of(replica.ranks.front()));
                replicas.push_back(paces_.now(current_.teams[team], replica.shares));
            }
        }
        return seconds_of(current_.layout, paces);
    }

    // Returns the layout with the shortest step. Layouts that move more must be faster by more than the
    // measuring error.
    std::pair<layout::Layout, double> best() const {
        constexpr double clearly = 0.99;
        std::pair<layout::Layout, double> best{healthy_, seconds_then(healthy_)};
        if (nobody_is_slow(observed_)) return best;
        for (layout::Layout& layout : possible_layouts()) {
            const double seconds = seconds_then(layout);
            if (seconds < clearly * best.second) best = {std::move(layout), seconds};
        }
        return best;
    }

private:
    std::vector<layout::Layout> possible_layouts() const {
        const Places places = places_of(healthy_);
        const bool is_one_each = has_one_stage_each(places);
        const bool may_cut = rules_.may_cut && is_one_each && places.size() > 1;
        const bool may_take_turns = rules_.may_take_turns && is_one_each;
        std::vector<layout::Layout> layouts{with(places, false, false)};
        if (!may_cut && !may_take_turns) return layouts;
        std::vector<Places> all = gathered(places, observed_.slowness, rules_.nodes);
        all.insert(all.begin(), places);
        for (const Places& each : all) {
            if (may_take_turns) layouts.push_back(with(each, false, true));
            if (may_cut) layouts.push_back(with(each, true, false));
            if (may_cut && may_take_turns) layouts.push_back(with(each, true, true));
        }
        return layouts;
    }

    // Returns a layout with these ranks, with shares in proportion to their speed.
    layout::Layout with(const Places& places, bool may_cut, bool may_take_turns) const {
        layout::Layout layout = healthy_;
        for (std::size_t s = 0; s < places.size(); ++s) {
            for (std::size_t r = 0; r < places[s].size(); ++r) {
                layout::ReplicaLayout& replica = layout.stages[s].replicas[r];
                replica.ranks = places[s][r];
                replica.shares = in_proportion_to_speed(shares_of(replica.ranks, healthy_),
                                                        of_ranks(replica.ranks, observed_.slowness, 1));
            }
        }
        spread(layout, paces_of(layout), work_,
               {.microbatches = microbatches(),
                .may_cut = may_cut,
                .may_take_turns = may_take_turns,
                .in_flight = in_flight(),
                .memory_limit = rules_.memory_limit});
        return layout;
    }

    std::size_t microbatches() const { return static_cast<std::size_t>(current_.microbatches()); }

    // Returns the maximum number of in-flight micro-batches per stage in the current plan.
    std::vector<std::size_t> in_flight() const {
        std::vector<std::size_t> most(current_.layout.stages.size(), 1);
        for (const std::vector<int>& of_team : current_.training.proof.peak_of_stage) {
            for (std::size_t s = 0; s < of_team.size(); ++s)
                most[s] = std::max(most[s], static_cast<std::size_t>(of_team[s]));
        }
        return most;
    }

    StagePaces paces_of(const layout::Layout& layout) const {
        StagePaces paces;
        for (const layout::StageLayout& stage : layout.stages) {
            auto& replicas = paces.emplace_back();
            for (const layout::ReplicaLayout& replica : stage.replicas)
                replicas.push_back(paces_.of(replica.ranks, replica.shares));
        }
        return paces;
    }

    double seconds_of(const layout::Layout& layout, const StagePaces& paces) const {
        return step_seconds(layout, paces, work_, current_);
    }
    double seconds_then(const layout::Layout& layout) const { return seconds_of(layout, paces_of(layout)); }

    const UnevenRules& rules_;
    const plan::Observation& observed_;
    const plan::Plan& current_;
    layout::Layout healthy_;
    RunWork work_;
    TeamPaces paces_;
};

std::optional<plan::Decision> decide(const UnevenRules& rules, const plan::Observation& observed,
                                     const plan::Plan& current) {
    if (observed.step % rules.every != 0 || observed.ranks.empty()) return std::nullopt;
    if (nobody_is_slow(observed) && current.layout == rules.healthy) return std::nullopt;
    const Look look(rules, observed, current);
    auto [layout, seconds] = look.best();
    if (layout == current.layout || seconds == layout::impossible) return std::nullopt;
    const double gain = look.seconds_now() - seconds;
    const double least = nobody_is_slow(observed) ? rules.least_of_return : rules.least_gain;
    if (gain <= least * observed.step_seconds) return std::nullopt;
    return plan::Decision{.step = observed.step,
                          .layout = std::move(layout),
                          .policy = "uneven",
                          .reason = words_of_slowness(observed),
                          .terms = terms_of_gain(observed, gain)};
}

}  // namespace

double stretch_of(const std::vector<SharedWidth>& widths, const Shares& shares,
                  const std::vector<double>& slowness) {
    double stretch = 0;
    for (const SharedWidth& width : widths) {
        const std::vector<layout::Range> cut = layout::cut_in_shares(width.units, shares, "units");
        double last = 0;
        for (std::size_t r = 0; r < cut.size(); ++r) {
            last = std::max(last, slowness[r] * static_cast<double>(cut[r].count));
        }
        stretch += width.work * last * static_cast<double>(cut.size()) / static_cast<double>(width.units);
    }
    return stretch;
}

Policy uneven_shares(UnevenRules rules) {
    return [rules = std::move(rules)](const plan::Observation& observed, const plan::Plan& current) {
        return decide(rules, observed, current);
    };
}

}  // namespace trireme::policy
