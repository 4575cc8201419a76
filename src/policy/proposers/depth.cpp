#include "trireme/policy/depth.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "policy/proposers/cut_layout.hpp"
#include "policy/proposers/pipe_plans.hpp"

namespace trireme::policy {
namespace {

constexpr std::size_t min_starts = 3;  // of each kind: with equal and with other numbers of replicas
constexpr std::size_t max_proposals = 8;
// Number of changes that are judged, times the number of layers and the square of the number of teams.
constexpr std::size_t max_judged_work = 250'000;
constexpr std::size_t min_judged_changes = 6;

const plan::StepAhead& find_typical_step(const std::vector<plan::StepAhead>& steps) {
    std::vector<std::pair<std::uint64_t, std::size_t>> tokens;
    for (const plan::StepAhead& step : steps)
        tokens.emplace_back(std::accumulate(step.lengths.begin(), step.lengths.end(), std::uint64_t{0}),
                            tokens.size());
    const auto median = tokens.begin() + static_cast<std::ptrdiff_t>(tokens.size() / 2);
    std::ranges::nth_element(tokens, median);
    return steps[median->second];
}

// Searches for plans with short steps, for one decision.
class DepthSearch {
public:
    DepthSearch(const DepthRules& rules, const plan::StepAhead& step, const Candidate& former,
                const std::vector<double>& slowness)
        : rules_(rules), step_(step), former_(former), slowness_(slowness), plans_(rules, step, slowness) {
        const std::size_t teams = rules.layers.teams.size();
        const std::size_t work = rules.gradient_bytes.size() * teams * teams;
        changes_left_ = std::clamp<std::size_t>(max_judged_work / work, min_judged_changes, 256);
    }

    std::vector<Candidate> list_candidates() {
        std::vector<PipePlan> starts;
        const std::size_t max_count = std::max(changes_left_ / 16, min_starts);
        choose_starts(plans_.equal(), max_count, starts);
        choose_starts(plans_.unequal(), max_count, starts);
        std::ranges::stable_sort(starts, {}, [this](const PipePlan& plan) { return judge(plan); });
        for (const PipePlan& start : starts) improve(start);
        return list_fastest();
    }

private:
    static constexpr double impossible = std::numeric_limits<double>::infinity();

    // Chooses possible plans: first the best one per number of stages and order of teams, then other ones.
    void choose_starts(const std::vector<PipePlan>& plans, std::size_t max_count,
                       std::vector<PipePlan>& starts) {
        std::size_t count = 0;
        std::set<std::pair<std::size_t, std::vector<std::size_t>>> kinds;
        for (const bool needs_new_kind : {true, false}) {
            for (const PipePlan& plan : plans) {
                if (count == max_count) return;
                const std::pair kind(plan.layers.size(), plan.teams);
                if (kinds.contains(kind) == needs_new_kind || judge(plan) == impossible) continue;
                if (std::ranges::find(starts, plan) != starts.end()) continue;
                kinds.insert(kind);
                starts.push_back(plan);
                ++count;
            }
        }
    }

    // Returns the seconds of a step; infinite if the plan is impossible.
    double judge(const PipePlan& plan) {
        const auto [known, is_new] = seconds_.try_emplace(plan, impossible);
        if (is_new) known->second = rules_.predict(make_candidate(plan), step_).value_or(impossible);
        return known->second;
    }

    // Changes the plan as long as the step becomes shorter.
    void improve(PipePlan plan) {
        for (;;) {
            const PipePlan* best = nullptr;
            const std::vector<PipePlan> changes = list_changes(plan);
            for (const PipePlan& change : changes) {
                if (seconds_.contains(change)) continue;
                if (changes_left_ == 0) return;
                --changes_left_;
                if (judge(change) < judge(best == nullptr ? plan : *best)) best = &change;
            }
            if (best == nullptr) return;
            plan = *best;
        }
    }

    std::vector<PipePlan> list_changes(const PipePlan& plan) const {
        std::vector<PipePlan> changes;
        add_other_counts(plan, changes);
        for (std::size_t stage = 0; stage + 1 < plan.layers.size(); ++stage) {
            add_moves(plan, stage, &PipePlan::layers, changes);
            if (rules_.fixed_pipelines == 0) add_moves(plan, stage, &PipePlan::replicas, changes);
        }
        if (rules_.fixed_pipelines == 0) add_joins_and_splits(plan, changes);
        add_swaps(plan, changes);
        return changes;
    }

    void add_other_counts(const PipePlan& plan, std::vector<PipePlan>& changes) const {
        const std::vector<std::size_t>& counts = plans_.microbatch_counts();
        const auto next = std::ranges::upper_bound(counts, plan.microbatches);
        std::set<std::size_t> others{plan.microbatches + 1, plan.microbatches - 1};
        if (next != counts.end()) others.insert(*next);
        const auto same = std::ranges::lower_bound(counts, plan.microbatches);
        if (same != counts.begin()) others.insert(*(same - 1));
        const std::size_t min_count = std::ranges::max(plan.replicas);
        const std::size_t max_count =
            rules_.count_samples ? rules_.count_samples(std::ranges::min(plan.replicas)) : step_.lengths.size();
        for (const std::size_t count : others) {
            if (count < min_count || count > max_count) continue;
            changes.push_back(plan);
            changes.back().microbatches = count;
        }
    }

    // Moves a layer or a replica between `stage` and the next one.
    static void add_moves(const PipePlan& plan, std::size_t stage, std::vector<std::size_t> PipePlan::*counts,
                          std::vector<PipePlan>& changes) {
        for (const auto& [from, to] : {std::pair(stage, stage + 1), std::pair(stage + 1, stage)}) {
            if ((plan.*counts)[from] == 1) continue;
            changes.push_back(plan);
            --(changes.back().*counts)[from];
            ++(changes.back().*counts)[to];
            if (std::ranges::max(changes.back().replicas) > plan.microbatches) changes.pop_back();
        }
    }

    // Joins adjacent stages, and divides stages in the middle.
    void add_joins_and_splits(const PipePlan& plan, std::vector<PipePlan>& changes) const {
        for (std::size_t stage = 0; stage < plan.layers.size(); ++stage) {
            const auto at = [&](auto& counts) { return counts.begin() + static_cast<std::ptrdiff_t>(stage); };
            if (stage + 1 < plan.layers.size()) {
                PipePlan joined = plan;
                for (auto counts : {&PipePlan::layers, &PipePlan::replicas}) {
                    *at(joined.*counts) += *(at(joined.*counts) + 1);
                    (joined.*counts).erase(at(joined.*counts) + 1);
                }
                if (joined.replicas[stage] <= plan.microbatches) changes.push_back(std::move(joined));
            }
            if (plan.layers.size() == rules_.max_stages || plan.layers[stage] == 1 || plan.replicas[stage] == 1)
                continue;
            PipePlan split = plan;
            for (auto counts : {&PipePlan::layers, &PipePlan::replicas}) {
                const std::size_t all = *at(split.*counts);
                *at(split.*counts) = all / 2;
                (split.*counts).insert(at(split.*counts), all - all / 2);
            }
            changes.push_back(std::move(split));
        }
    }

    // Exchanges the slowest team for the first team of each other stage.
    void add_swaps(const PipePlan& plan, std::vector<PipePlan>& changes) const {
        const auto slowness = [this](std::size_t team) { return slowness_[team]; };
        const auto slowest = std::ranges::max_element(plan.teams, {}, slowness);
        if (slowness(*slowest) == slowness(std::ranges::min(plan.teams, {}, slowness))) return;
        const auto position = static_cast<std::size_t>(slowest - plan.teams.begin());
        std::size_t begin = 0;
        for (const std::size_t replicas : plan.replicas) {
            const bool is_own_stage = position >= begin && position < begin + replicas;
            if (!is_own_stage) {
                changes.push_back(plan);
                std::swap(changes.back().teams[begin], changes.back().teams[position]);
            }
            begin += replicas;
        }
    }

    Candidate make_candidate(const PipePlan& plan) const {
        return {.layout = plans_.make_layout(plan),
                .microbatches = static_cast<int>(plan.microbatches),
                .schedule = former_.schedule};
    }

    std::vector<Candidate> list_fastest() const {
        std::vector<std::pair<double, const PipePlan*>> judged;
        for (const auto& [plan, seconds] : seconds_)
            if (seconds < impossible) judged.emplace_back(seconds, &plan);
        std::ranges::stable_sort(judged, {}, [](const auto& each) { return each.first; });
        judged.resize(std::min(judged.size(), max_proposals));
        std::vector<Candidate> candidates;
        for (const auto& [seconds, plan] : judged) candidates.push_back(make_candidate(*plan));
        return candidates;
    }

    const DepthRules& rules_;
    const plan::StepAhead& step_;
    const Candidate& former_;
    const std::vector<double>& slowness_;  // per team
    PipePlans plans_;
    std::size_t changes_left_ = 0;             // that may still be judged
    std::map<PipePlan, double> seconds_ = {};  // of the judged plans
};

// Proposes plans, and remembers those for recent classes of steps.
class DepthProposer {
public:
    explicit DepthProposer(DepthRules rules) : rules_(std::move(rules)) {}

    std::vector<Candidate> propose(const plan::Observation& observed, const Candidate& former) {
        if (observed.ahead.empty()) return {};
        const plan::StepAhead& step = find_typical_step(observed.ahead);
        const Key key{find_length_class(step.lengths), step.lengths.size(),
                      list_team_slowness(rules_.layers, observed)};
        if (known_.size() == max_known_classes && !known_.contains(key)) known_.clear();
        const auto [known, is_new] = known_.try_emplace(key);
        if (is_new)
            known->second = DepthSearch(rules_, step, former, std::get<2>(known->first)).list_candidates();
        std::vector<Candidate> candidates = known->second;
        for (Candidate& candidate : candidates) {
            candidate.schedule = former.schedule;
            candidate.causes = former.causes;
            candidate.causes.push_back({.proposer = "auto-pipe", .reason = "the frozen blocks"});
        }
        return candidates;
    }

private:
    static constexpr std::size_t max_known_classes = 64;
    using Key = std::tuple<LengthClass, std::size_t, std::vector<double>>;  // with samples, slowness per team

    DepthRules rules_;
    std::map<Key, std::vector<Candidate>> known_ = {};
};

}  // namespace

Proposer make_depth_proposer(DepthRules rules) {
    const auto proposer = std::make_shared<DepthProposer>(std::move(rules));
    return [proposer](const plan::Observation& observed, const Candidate& candidate) {
        return proposer->propose(observed, candidate);
    };
}

}  // namespace trireme::policy
