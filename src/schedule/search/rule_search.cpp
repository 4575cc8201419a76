#include "schedule/search/rule_search.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "schedule/search/initial_rules.hpp"
#include "trireme/base/random.hpp"

namespace trireme::schedule {
namespace {

// Returns classes of teams: the teams of a class hold the same stages. Teams without a stage are omitted.
std::vector<std::vector<int>> group_teams_by_stages(const PipelineShape& shape, const StageHoldings& holdings) {
    std::map<std::vector<int>, std::vector<int>> teams_by_stages;
    for (int team = 0; team < shape.teams; ++team) {
        std::vector<int> stages;
        for (const Holding& holding : holdings.find_team_holdings(team)) stages.push_back(holding.stage);
        if (!stages.empty()) teams_by_stages[stages].push_back(team);
    }
    std::vector<std::vector<int>> team_classes;
    for (auto& [stages, teams] : teams_by_stages) team_classes.push_back(std::move(teams));
    return team_classes;
}

// Returns `rule` with `team_rule` for the given teams.
ListRule replace_rules(ListRule rule, const std::vector<int>& teams, const TeamRule& team_rule) {
    for (const int team : teams) rule.teams[static_cast<std::size_t>(team)] = team_rule;
    return rule;
}

}  // namespace

RuleSearch::RuleSearch(const PipelineShape& shape, const StageHoldings& holdings,
                       const std::vector<StageCost>& costs, const std::vector<bool>& may_split)
    : shape_(shape),
      holdings_(holdings),
      costs_(costs),
      scheduler_(shape, holdings, costs, may_split),
      team_classes_(group_teams_by_stages(shape, holdings)) {}

void RuleSearch::search_rules(std::size_t attempts, double min_duration) {
    try_initial_rules();
    ListRule current_rule = best_.rule;
    double current_duration = best_.duration;
    for (std::uint64_t attempt = 0; attempt < attempts && best_.duration > min_duration; ++attempt) {
        const RandomBlock draws = random_block(RandomKey{}.then("team"), attempt);
        const TeamClass& team_class = team_classes_[draws[0] % team_classes_.size()];
        const TeamRule& old_rule = current_rule.teams[static_cast<std::size_t>(team_class.front())];
        const TeamRule new_rule = change_rule_randomly(old_rule, team_class, attempt);
        Candidate candidate = make_candidate(replace_rules(current_rule, team_class, new_rule));
        // Equally long programs may lead to shorter ones.
        if (candidate.duration > current_duration) continue;
        current_duration = candidate.duration;
        current_rule = candidate.rule;
        accept_if_better(std::move(candidate));
    }
}

void RuleSearch::try_initial_rules() {
    for (ListRule& rule : make_initial_rules(shape_, holdings_, costs_))
        accept_if_better(make_candidate(std::move(rule)));
}

void RuleSearch::reduce_memory() {
    lower_common_limit();
    for (const TeamClass& team_class : team_classes_) {
        TeamRule rule = find_best_rule(team_class);
        rule.splits_no_backward = true;
        accept_if_no_worse(replace_rules(best_.rule, team_class, rule));
        lower_class_limit(team_class);
    }
}

// Replaces all activation limits above a common bound by this bound. The bound is the smallest one that does
// not make the programs longer. Finds the bound by binary search between min_limit and sufficient_limit.
void RuleSearch::lower_common_limit() {
    const std::vector<TeamRule> old_rules = best_.rule.teams;
    int sufficient_limit = 1;
    for (const TeamRule& rule : old_rules) sufficient_limit = std::max(sufficient_limit, rule.max_activations);
    for (int min_limit = 1; min_limit < sufficient_limit;) {
        const int limit = (min_limit + sufficient_limit) / 2;
        ListRule rule = best_.rule;
        for (std::size_t t = 0; t < old_rules.size(); ++t) {
            rule.teams[t].max_activations = std::min(old_rules[t].max_activations, limit);
        }
        if (accept_if_no_worse(std::move(rule))) {
            sufficient_limit = limit;
        } else {
            min_limit = limit + 1;
        }
    }
}

void RuleSearch::lower_class_limit(const TeamClass& team_class) {
    TeamRule rule = find_best_rule(team_class);
    int sufficient_limit = rule.max_activations;
    for (int min_limit = 1; min_limit < sufficient_limit;) {
        rule.max_activations = (min_limit + sufficient_limit) / 2;
        if (accept_if_no_worse(replace_rules(best_.rule, team_class, rule))) {
            sufficient_limit = rule.max_activations;
        } else {
            min_limit = rule.max_activations + 1;
        }
    }
}

RuleSearch::Candidate RuleSearch::make_candidate(ListRule rule) {
    Candidate candidate{.rule = std::move(rule)};
    candidate.programs = scheduler_.make_programs(candidate.rule);
    candidate.duration = scheduler_.compute_duration();
    candidate.peak_activations = scheduler_.compute_peak_activations();
    return candidate;
}

void RuleSearch::accept_if_better(Candidate candidate) {
    if (std::tie(candidate.duration, candidate.peak_activations) <
        std::tie(best_.duration, best_.peak_activations))
        best_ = std::move(candidate);
}

bool RuleSearch::accept_if_no_worse(ListRule rule) {
    Candidate candidate = make_candidate(std::move(rule));
    if (candidate.duration > best_.duration || candidate.peak_activations > best_.peak_activations)
        return false;
    best_ = std::move(candidate);
    return true;
}

const TeamRule& RuleSearch::find_best_rule(const TeamClass& team_class) const {
    return best_.rule.teams[static_cast<std::size_t>(team_class.front())];
}

// Returns the rule with one property changed at random. With probability 1/2, the activation limit changes by 1
// or 2. Otherwise, one of the four fields of TeamRule changes: a number or preference gets a random value, and
// splits_no_backward is negated.
TeamRule RuleSearch::change_rule_randomly(TeamRule rule, const TeamClass& team_class,
                                          std::uint64_t attempt) const {
    const RandomBlock draws = random_block(RandomKey{}.then("change"), attempt);
    const int max_limit = find_max_limit(team_class);
    switch (draws[0] % 8) {
        case 0:
        case 1:
        case 2:
        case 3:
            rule.max_activations += std::array{1, -1, 2, -2}[draws[0] % 4];
            break;
        case 4:
            rule.max_activations = 1 + static_cast<int>(draws[1] % static_cast<std::uint32_t>(max_limit));
            break;
        case 5:
            rule.preference = static_cast<Preference>(draws[1] % 3);
            break;
        case 6:
            rule.delay_fraction = 0.25 * (draws[1] % 5);
            break;
        default:
            rule.splits_no_backward = !rule.splits_no_backward;
    }
    rule.max_activations = std::clamp(rule.max_activations, 1, max_limit);
    return rule;
}

// Returns the largest number of activations that a team of the class can stash in a step.
int RuleSearch::find_max_limit(const TeamClass& team_class) const {
    return shape_.microbatches * static_cast<int>(holdings_.find_team_holdings(team_class.front()).size());
}

}  // namespace trireme::schedule
