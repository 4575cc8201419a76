// Searches for the rule that makes the shortest programs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "schedule/search/list_scheduler.hpp"

namespace trireme::schedule {

class RuleSearch {
public:
    // All arguments are kept by reference: see ListScheduler.
    RuleSearch(const PipelineShape& shape, const StageHoldings& holdings, const std::vector<StageCost>& costs,
               const std::vector<bool>& may_split);

    // Tries the initial rules, then at most `attempts` random changes of the best one, until programs take no
    // more than `least`. The same numbers are drawn every time.
    void look(std::size_t attempts, double least);

    // Lowers the activations that teams keep, and makes backwards whole, as far as programs do not become
    // longer.
    void make_lean();

    const std::vector<Program>& programs() const { return best_.programs; }
    double duration() const { return best_.duration; }

private:
    using Teams = std::vector<int>;
    struct Made {
        ListRule rule;
        std::vector<Program> programs = {};
        double duration = never;
        std::size_t kept = std::numeric_limits<std::size_t>::max();
    };

    Made made_by(ListRule rule);
    void begin();
    void lower_together();
    void lower(const Teams& alike);
    void take_if_better(Made made);
    bool is_as_good(ListRule rule);  // if so, makes it the best
    const TeamRule& rule_of(const Teams& alike) const;
    TeamRule changed(TeamRule rule, const Teams& alike, std::uint64_t position) const;
    int most_of(const Teams& alike) const;

    const PipelineShape& shape_;
    const StageHoldings& holdings_;
    const std::vector<StageCost>& costs_;
    ListScheduler scheduler_;
    std::vector<Teams> alike_;  // teams that hold the same stages have one rule
    Made best_;                 // the shortest so far; among equally short ones the one that keeps least
};

}  // namespace trireme::schedule
