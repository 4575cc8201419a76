#include "schedule/search/rule_search.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "schedule/search/first_rules.hpp"
#include "trireme/base/random.hpp"

namespace trireme::schedule {
namespace {

std::vector<std::vector<int>> teams_alike(const PipelineShape& shape, const StageHoldings& holdings) {
    std::map<std::vector<int>, std::vector<int>> by_stages;
    for (int team = 0; team < shape.teams; ++team) {
        std::vector<int> stages;
        for (const Holding& held : holdings.of(team)) stages.push_back(held.stage);
        if (!stages.empty()) by_stages[stages].push_back(team);
    }
    std::vector<std::vector<int>> alike;
    for (auto& [stages, teams] : by_stages) alike.push_back(std::move(teams));
    return alike;
}

ListRule with(ListRule rule, const std::vector<int>& teams, const TeamRule& of_these) {
    for (const int team : teams) rule.teams[static_cast<std::size_t>(team)] = of_these;
    return rule;
}

}  // namespace

RuleSearch::RuleSearch(const PipelineShape& shape, const StageHoldings& holdings,
                       const std::vector<StageCost>& costs, const std::vector<bool>& may_split)
    : shape_(shape),
      holdings_(holdings),
      costs_(costs),
      scheduler_(shape, holdings, costs, may_split),
      alike_(teams_alike(shape, holdings)) {}

void RuleSearch::look(std::size_t attempts, double least) {
    begin();
    ListRule current = best_.rule;
    double duration = best_.duration;
    for (std::uint64_t position = 0; position < attempts && best_.duration > least; ++position) {
        const RandomBlock drawn = random_block(RandomKey{}.then("team"), position);
        const Teams& alike = alike_[drawn[0] % alike_.size()];
        const TeamRule& old = current.teams[static_cast<std::size_t>(alike.front())];
        Made made = made_by(with(current, alike, changed(old, alike, position)));
        if (made.duration > duration) continue;  // equally long programs may lead to shorter ones
        duration = made.duration;
        current = made.rule;
        take_if_better(std::move(made));
    }
}

void RuleSearch::begin() {
    for (ListRule& rule : first_rules(shape_, holdings_, costs_)) take_if_better(made_by(std::move(rule)));
}

void RuleSearch::make_lean() {
    lower_together();
    for (const Teams& alike : alike_) {
        TeamRule rule = rule_of(alike);
        rule.is_whole = true;
        is_as_good(with(best_.rule, alike, rule));
        lower(alike);
    }
}

// Searches for the smallest common bound of all teams that keep more.
void RuleSearch::lower_together() {
    const std::vector<TeamRule> before = best_.rule.teams;
    int enough = 1;
    for (const TeamRule& rule : before) enough = std::max(enough, rule.most_kept);
    for (int least = 1; least < enough;) {
        const int bound = (least + enough) / 2;
        ListRule rule = best_.rule;
        for (std::size_t t = 0; t < before.size(); ++t) {
            rule.teams[t].most_kept = std::min(before[t].most_kept, bound);
        }
        if (is_as_good(std::move(rule))) {
            enough = bound;
        } else {
            least = bound + 1;
        }
    }
}

void RuleSearch::lower(const Teams& alike) {
    TeamRule rule = rule_of(alike);
    int enough = rule.most_kept;
    for (int least = 1; least < enough;) {
        rule.most_kept = (least + enough) / 2;
        if (is_as_good(with(best_.rule, alike, rule))) {
            enough = rule.most_kept;
        } else {
            least = rule.most_kept + 1;
        }
    }
}

RuleSearch::Made RuleSearch::made_by(ListRule rule) {
    Made made{.rule = std::move(rule)};
    made.programs = scheduler_.programs(made.rule);
    made.duration = scheduler_.duration();
    made.kept = scheduler_.kept();
    return made;
}

void RuleSearch::take_if_better(Made made) {
    if (std::tie(made.duration, made.kept) < std::tie(best_.duration, best_.kept)) best_ = std::move(made);
}

bool RuleSearch::is_as_good(ListRule rule) {
    Made made = made_by(std::move(rule));
    if (made.duration > best_.duration || made.kept > best_.kept) return false;
    best_ = std::move(made);
    return true;
}

const TeamRule& RuleSearch::rule_of(const Teams& alike) const {
    return best_.rule.teams[static_cast<std::size_t>(alike.front())];
}

// Draws a change of the rule: half of the time a small change of the activations kept.
TeamRule RuleSearch::changed(TeamRule rule, const Teams& alike, std::uint64_t position) const {
    const RandomBlock drawn = random_block(RandomKey{}.then("change"), position);
    const int most = most_of(alike);
    switch (drawn[0] % 8) {
        case 0:
        case 1:
        case 2:
        case 3:
            rule.most_kept += std::array{1, -1, 2, -2}[drawn[0] % 4];
            break;
        case 4:
            rule.most_kept = 1 + static_cast<int>(drawn[1] % static_cast<std::uint32_t>(most));
            break;
        case 5:
            rule.preference = static_cast<Preference>(drawn[1] % 3);
            break;
        case 6:
            rule.patience = 0.25 * (drawn[1] % 5);
            break;
        default:
            rule.is_whole = !rule.is_whole;
    }
    rule.most_kept = std::clamp(rule.most_kept, 1, most);
    return rule;
}

// Returns the number of activations that one of these teams could keep at most.
int RuleSearch::most_of(const Teams& alike) const {
    return shape_.microbatches * static_cast<int>(holdings_.of(alike.front()).size());
}

}  // namespace trireme::schedule
