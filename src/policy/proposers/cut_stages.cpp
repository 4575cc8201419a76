#include "policy/proposers/cut_stages.hpp"

#include <algorithm>
#include <optional>

#include "policy/proposers/stage_costs.hpp"

namespace trireme::policy {
namespace {

constexpr double rounding = 1e-12;  // relative difference of seconds that count as equal

// Lower bounds of the seconds of the last stages of a cut. Dynamic programming minimizes both parts of the
// seconds separately, so each part is exact, but different cuts may reach them.
class RestBounds {
public:
    // The bounds serve searches for cuts with `min_stages` to `max_stages` stages.
    RestBounds(const StageCosts& costs, std::size_t min_stages, std::size_t max_stages)
        : costs_(costs),
          bounds_((max_stages + 1) * (costs.runs() + 1) * (costs.teams() + 1), {no_cut, no_cut}),
          stage_seconds_((costs.runs() + 1) * (costs.teams() + 1)) {
        bounds_[index(0, costs.runs(), costs.teams())] = {};
        for (std::size_t begin = costs.runs(); begin-- > 0;) {
            if (costs.has_equal_teams()) list_seconds(begin, 0);
            for (std::size_t stages = 1; stages <= max_stages; ++stages)
                find_bounds(stages, begin, min_stages - std::min(min_stages, stages), max_stages - stages);
        }
    }

    // Returns the bound for `stages` stages that have all runs from `begin` on and all teams from `team` on.
    const CutSeconds& at(std::size_t stages, std::size_t begin, std::size_t team) const {
        return bounds_[index(stages, begin, team)];
    }

private:
    std::size_t index(std::size_t stages, std::size_t begin, std::size_t team) const {
        return (stages * (costs_.teams() + 1) + team) * (costs_.runs() + 1) + begin;
    }

    // Finds the bounds of stages that follow `min_earlier` to `max_earlier` other stages.
    void find_bounds(std::size_t stages, std::size_t begin, std::size_t min_earlier, std::size_t max_earlier) {
        const StageLimits runs = costs_.run_limits();
        const StageLimits replicas = costs_.replica_limits();
        if (begin < min_earlier * runs.min || begin > max_earlier * runs.max) return;
        const std::size_t last_team = std::min(costs_.teams(), max_earlier * replicas.max);
        for (std::size_t team = replicas.round_up(min_earlier * replicas.min); team <= last_team;
             team += replicas.step) {
            if (!costs_.has_equal_teams()) list_seconds(begin, team);
            bounds_[index(stages, begin, team)] = find_bound(stages, begin, team);
        }
    }

    // Lists the seconds of all stages that begin with the run `begin` and the team `team`.
    void list_seconds(std::size_t begin, std::size_t team) {
        const StageLimits& replicas = costs_.replica_limits();
        const std::size_t max_end = std::min(costs_.runs(), begin + costs_.run_limits().max);
        for (std::size_t r = replicas.min; r <= std::min(replicas.max, costs_.teams() - team); ++r) {
            for (std::size_t end = begin + costs_.run_limits().min; end <= max_end; ++end)
                stage_seconds_[r * (costs_.runs() + 1) + end] = costs_.find(begin, end, team, r);
        }
    }

    CutSeconds find_bound(std::size_t stages, std::size_t begin, std::size_t team) const {
        CutSeconds best{no_cut, no_cut};
        const StageLimits runs = costs_.run_limits().limit_first(costs_.runs() - begin, stages - 1);
        const StageLimits replicas = costs_.replica_limits().limit_first(costs_.teams() - team, stages - 1);
        for (std::size_t r = replicas.min; r <= replicas.max; r += replicas.step) {
            const bool may_stop = costs_.grow_with_runs(r);
            const CutSeconds* const stage = &stage_seconds_[r * (costs_.runs() + 1)];
            const CutSeconds* const rest = &at(stages - 1, 0, team + r);
            for (std::size_t end = begin + runs.min; end <= begin + runs.max; ++end) {
                if (may_stop && stage[end].others >= best.others) break;  // longer stages take longer
                const CutSeconds joined = stage[end].join(rest[end]);
                best.first = std::min(best.first, joined.first);
                best.others = std::min(best.others, joined.others);
            }
        }
        return best;
    }

    const StageCosts& costs_;
    std::vector<CutSeconds> bounds_;
    std::vector<CutSeconds> stage_seconds_;  // by number of replicas and end; see list_seconds()
};

// Finds the best cut into a number of stages.
class CutSearch {
public:
    CutSearch(const StageCosts& costs, const RestBounds& bounds, std::size_t stages)
        : costs_(costs), bounds_(bounds), stages_(stages) {}

    std::optional<StageCut> find() {
        const CutSeconds bound = bounds_.at(stages_, 0, 0);
        if (bound.step() == no_cut) return std::nullopt;
        descend();
        if (may_improve(bound.step())) search();
        return make_cut();
    }

private:
    // The first stages of a cut, with a reference to the same stages without the last one.
    struct Prefix {
        std::size_t end = 0;   // runs of these stages
        std::size_t team = 0;  // teams of these stages
        CutSeconds seconds = {};
        std::size_t parent = 0;  // index in prefixes_; without meaning if there are no stages
    };

    bool may_improve(double step_seconds) const { return step_seconds < best_seconds_ * (1 - rounding); }

    // Calls visit(prefix, stage, rest) for each way to add a stage to the prefix with the index `parent`.
    // `remaining` is the number of missing stages, including the added one. `stage` has the seconds of the
    // added stage, and `rest` is the bound of the stages after it.
    template <class Visit>
    void visit_children(std::size_t parent, std::size_t remaining, Visit&& visit) const {
        const Prefix from = prefixes_[parent];
        const std::size_t rest_stages = remaining - 1;
        const StageLimits runs = costs_.run_limits().limit_first(costs_.runs() - from.end, rest_stages);
        const StageLimits replicas =
            costs_.replica_limits().limit_first(costs_.teams() - from.team, rest_stages);
        for (std::size_t end = from.end + runs.min; end <= from.end + runs.max; ++end) {
            for (std::size_t r = replicas.min; r <= replicas.max; r += replicas.step) {
                const CutSeconds rest = bounds_.at(rest_stages, end, from.team + r);
                if (rest.first == no_cut) continue;
                const CutSeconds stage = costs_.find(from.end, end, from.team, r);
                if (stage.first == no_cut) continue;
                visit(Prefix{end, from.team + r, from.seconds.join(stage), parent}, stage, rest);
            }
        }
    }

    // Finds a first cut: adds the stage with the best bound again and again. If the bounds of both parts can be
    // reached together, as with equally fast teams, this cut is the best one.
    void descend() {
        prefixes_ = {Prefix{}};
        for (std::size_t remaining = stages_; remaining > 0; --remaining) {
            std::optional<Preference> best;
            Prefix chosen;
            visit_children(prefixes_.size() - 1, remaining,
                           [&](const Prefix& prefix, const CutSeconds& stage, const CutSeconds& rest) {
                               const Preference preference{.step_seconds = prefix.seconds.join(rest).step(),
                                                           .max_seconds = std::max(stage.others, rest.others),
                                                           .imbalance = find_imbalance(prefix, remaining)};
                               if (best && !preference.is_better_than(*best)) return;
                               best = preference;
                               chosen = prefix;
                           });
            prefixes_.push_back(chosen);
        }
        keep_best(prefixes_.back());
    }

    struct Preference {
        double step_seconds;    // bound of the whole cut
        double max_seconds;     // bound of the slowest stage, from the added one on
        std::size_t imbalance;  // distance of the number of replicas from an even division

        bool is_better_than(const Preference& other) const {
            const double step_margin = rounding * other.step_seconds;
            if (step_seconds < other.step_seconds - step_margin) return true;
            if (step_seconds > other.step_seconds + step_margin) return false;
            if (max_seconds < other.max_seconds - step_margin) return true;
            if (max_seconds > other.max_seconds + step_margin) return false;
            return imbalance < other.imbalance;
        }
    };

    std::size_t find_imbalance(const Prefix& prefix, std::size_t remaining) const {
        const std::size_t begin = prefixes_[prefix.parent].team;
        const std::size_t scaled_replicas = (prefix.team - begin) * remaining;
        const std::size_t teams = costs_.teams() - begin;
        return std::max(scaled_replicas, teams) - std::min(scaled_replicas, teams);
    }

    // Finds the best cut by dynamic programming over the stages. Keeps, per number of runs and teams, the
    // prefixes that no other prefix beats in both parts of its seconds.
    void search() {
        prefixes_ = {Prefix{}};
        std::vector<std::size_t> level{0};
        for (std::size_t remaining = stages_; remaining > 1; --remaining) {
            std::vector<std::vector<std::size_t>> fronts((costs_.runs() + 1) * (costs_.teams() + 1));
            for (const std::size_t parent : level) {
                visit_children(parent, remaining,
                               [&](const Prefix& prefix, const CutSeconds&, const CutSeconds& rest) {
                                   if (may_improve(prefix.seconds.join(rest).step()))
                                       add(prefix, fronts[prefix.end * (costs_.teams() + 1) + prefix.team]);
                               });
            }
            level.clear();
            for (const std::vector<std::size_t>& front : fronts)
                level.insert(level.end(), front.begin(), front.end());
        }
        for (const std::size_t parent : level) {
            visit_children(parent, 1, [&](const Prefix& prefix, const CutSeconds&, const CutSeconds&) {
                if (may_improve(prefix.seconds.step())) keep_best(prefix);
            });
        }
    }

    // Adds a prefix to a front, unless a prefix of the front is at least as good. Removes those that it beats.
    void add(const Prefix& prefix, std::vector<std::size_t>& front) {
        const auto is_as_good = [](const CutSeconds& a, const CutSeconds& b) {
            return a.first <= b.first && a.others <= b.others;
        };
        for (const std::size_t other : front)
            if (is_as_good(prefixes_[other].seconds, prefix.seconds)) return;
        std::erase_if(front,
                      [&](std::size_t other) { return is_as_good(prefix.seconds, prefixes_[other].seconds); });
        front.push_back(prefixes_.size());
        prefixes_.push_back(prefix);
    }

    void keep_best(const Prefix& complete) {
        best_seconds_ = complete.seconds.step();
        best_.assign(stages_, complete);
        for (std::size_t stage = stages_ - 1; stage > 0; --stage)
            best_[stage - 1] = prefixes_[best_[stage].parent];
    }

    StageCut make_cut() const {
        StageCut cut{.seconds = best_seconds_};
        Prefix before;
        for (const Prefix& prefix : best_) {
            cut.layers.push_back(costs_.count_layers(before.end, prefix.end));
            cut.replicas.push_back(prefix.team - before.team);
            before = prefix;
        }
        return cut;
    }

    const StageCosts& costs_;
    const RestBounds& bounds_;
    std::size_t stages_;
    std::vector<Prefix> prefixes_ = {};
    std::vector<Prefix> best_ = {};  // the first stage of the best cut, its first two stages, and so on
    double best_seconds_ = no_cut;
};

// Returns the best cuts into `min_stages` to `max_stages` stages, without those that are impossible.
std::vector<StageCut> search_cuts(const CutProblem& problem, std::size_t min_stages, std::size_t max_stages) {
    const StageCosts costs(problem);
    max_stages = std::min({max_stages, costs.runs(), costs.teams()});
    if (min_stages > max_stages) return {};
    const RestBounds bounds(costs, min_stages, max_stages);
    std::vector<StageCut> cuts;
    for (std::size_t stages = min_stages; stages <= max_stages; ++stages) {
        if (std::optional<StageCut> cut = CutSearch(costs, bounds, stages).find())
            cuts.push_back(std::move(*cut));
    }
    return cuts;
}

}  // namespace

std::vector<StageCut> find_best_cuts(const CutProblem& problem) {
    return search_cuts(problem, 1, std::min(problem.cuts.size(), problem.bounds.max_stages));
}

std::optional<StageCut> find_best_cut(const CutProblem& problem, std::size_t stages) {
    std::vector<StageCut> cuts = search_cuts(problem, stages, stages);
    return cuts.empty() ? std::nullopt : std::optional(std::move(cuts.front()));
}

}  // namespace trireme::policy
