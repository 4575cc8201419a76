// Searches for the rule with which ListScheduler generates the shortest programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "schedule/search/list_scheduler.hpp"

namespace trireme::schedule {

class RuleSearch {
public:
    // All arguments are kept by reference and have the meaning that they have for ListScheduler.
    RuleSearch(const PipelineShape& shape, const StageHoldings& holdings, const std::vector<StageCost>& costs,
               const std::vector<bool>& may_split);

    // Tries the initial rules, then at most `attempts` random changes. Each change starts from a rule whose
    // programs are the shortest so far. Stops trying changes once the programs take no longer than
    // `min_duration`. All calls draw the same random numbers.
    void search_rules(std::size_t attempts, double min_duration);

    // Lowers the activation limits of the best rule, and lets teams execute unsplit backwards, as far as the
    // programs do not become longer. Must be called after search_rules().
    void reduce_memory();

    // Programs of the best rule so far, one per team, and the duration of a step with them.
    const std::vector<Program>& programs() const { return best_.programs; }
    double duration() const { return best_.duration; }

private:
    using TeamClass = std::vector<int>;  // teams that hold the same stages
    // A rule, and the programs that ListScheduler generates by it.
    struct Candidate {
        ListRule rule;
        std::vector<Program> programs = {};
        double duration = never;
        std::size_t peak_activations = std::numeric_limits<std::size_t>::max();  // summed over teams
    };

    Candidate make_candidate(ListRule rule);
    void try_initial_rules();
    void lower_common_limit();
    void lower_class_limit(const TeamClass& team_class);
    void accept_if_better(Candidate candidate);
    bool accept_if_no_worse(ListRule rule);  // returns true if `rule` has become the best rule
    const TeamRule& find_best_rule(const TeamClass& team_class) const;
    TeamRule change_rule_randomly(TeamRule rule, const TeamClass& team_class, std::uint64_t attempt) const;
    int find_max_limit(const TeamClass& team_class) const;

    const PipelineShape& shape_;
    const StageHoldings& holdings_;
    const std::vector<StageCost>& costs_;
    ListScheduler scheduler_;
    std::vector<TeamClass> team_classes_;  // the teams of a class have equal rules
    // The candidate with the shortest programs so far; among equally long programs, the one with the smallest
    // peak_activations.
    Candidate best_;
};

}  // namespace trireme::schedule
