#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/layout/layout.hpp"

namespace trireme::layout {
namespace {

std::string layers_to_string(std::size_t begin, std::size_t end) {
    if (end - begin == 1) return cat("layer ", begin);
    return cat("layers ", begin, "-", end - 1);
}

void check_first_layer(const Layout& layout, std::size_t s, std::size_t expected, const std::string& place) {
    const std::size_t begin = layout.stages[s].layers.begin;
    if (begin > expected) {
        throw ConfigError(cat("no stage of ", place, " holds ", layers_to_string(expected, begin),
                              "; let stage ", s, " begin at layer ", expected));
    }
    if (begin < expected) {
        throw ConfigError(cat("stage ", s, " of ", place, " begins at layer ", begin, ", but stage ", s - 1,
                              " ends with layer ", expected - 1, "; let stage ", s, " begin at layer ",
                              expected));
    }
}

void check_layers(const Layout& layout, std::size_t layers, const std::string& place) {
    if (layout.layers != layers) {
        throw ConfigError(cat(place, " is for a model of ", layout.layers, " layers and this one has ", layers,
                              " (halves of blocks count one each); use a layout made for this model"));
    }
    if (layout.stages.empty()) throw ConfigError(cat(place, " has no stage; name at least one"));
    std::size_t next = 0;
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const Range range = layout.stages[s].layers;
        if (range.count == 0) {
            throw ConfigError(
                cat("stage ", s, " of ", place, " has no layer; give it at least one, or leave it out"));
        }
        check_first_layer(layout, s, next, place);
        next = range.end();
    }
    const std::size_t last = layout.stages.size() - 1;
    if (next < layers) {
        throw ConfigError(cat("no stage of ", place, " holds ", layers_to_string(next, layers), "; let stage ",
                              last, " end with layer ", layers - 1));
    }
    if (next > layers) {
        throw ConfigError(cat("stage ", last, " of ", place, " ends with layer ", next - 1,
                              " and the model has ", layers, ", 0-", layers - 1, "; let it end with layer ",
                              layers - 1));
    }
}

void check_shares(const ReplicaLayout& replica, const std::string& name) {
    if (replica.ranks.empty())
        throw ConfigError(cat(name, " has no rank; give it at least one, or leave it out"));
    if (replica.shares.size() != replica.ranks.size()) {
        throw ConfigError(cat(name, " has ", replica.ranks.size(), " ranks and ", replica.shares.size(),
                              " shares; give each of its ranks one share"));
    }
    const auto zero = std::ranges::find(replica.shares, 0U);
    if (zero == replica.shares.end()) return;
    throw ConfigError(cat(name, " gives rank ",
                          replica.ranks[static_cast<std::size_t>(zero - replica.shares.begin())],
                          " a share of 0; make it at least 1, or leave the rank out"));
}

void check_replicas(const Layout& layout, const std::string& place) {
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const auto& replicas = layout.stages[s].replicas;
        if (replicas.empty()) {
            throw ConfigError(
                cat("stage ", s, " of ", place, " has no replica; give it at least one, with its ranks"));
        }
        for (std::size_t r = 0; r < replicas.size(); ++r) {
            const std::string name = cat("replica ", r, " of stage ", s, " of ", place);
            check_shares(replicas[r], name);
            if (replicas[r].turns == 0)
                throw ConfigError(cat(name, " takes no turn; let it take at least 1, or leave it out"));
        }
    }
}

// Records the stage or the idleness of each rank, and rejects contradictions.
class RankAssignments {
public:
    RankAssignments(const Layout& layout, int ranks, const std::string& place)
        : layout_(layout), place_(place), assignments_(static_cast<std::size_t>(ranks)) {}

    void add_replica_rank(int rank, std::size_t stage, std::size_t replica) {
        Assignment& assignment = find_assignment(rank);
        if (assignment.is_working && assignment.stage == stage) refuse_two_replicas(rank, assignment, replica);
        if (assignment.is_working && find_ranks(assignment) != find_ranks({true, false, stage, replica})) {
            refuse_two_teams(rank, assignment, {true, false, stage, replica});
        }
        assignment = {true, false, stage, replica};
    }

    void add_idle_rank(int rank) {
        Assignment& assignment = find_assignment(rank);
        if (assignment.is_working) {
            throw ConfigError(cat("rank ", rank, " is both idle and in replica ", assignment.replica,
                                  " of stage ", assignment.stage, " of ", place_, "; name it in one of them"));
        }
        if (assignment.is_idle)
            throw ConfigError(cat("rank ", rank, " is idle twice in ", place_, "; name it once"));
        assignment.is_idle = true;
    }

    void check_all_ranks_named() const {
        std::vector<int> unnamed_ranks;
        for (std::size_t r = 0; r < assignments_.size(); ++r) {
            if (!assignments_[r].is_working && !assignments_[r].is_idle)
                unnamed_ranks.push_back(static_cast<int>(r));
        }
        if (unnamed_ranks.empty()) return;
        const std::size_t named_count = assignments_.size() - unnamed_ranks.size();
        const bool are_last = static_cast<std::size_t>(unnamed_ranks.front()) == named_count;
        throw ConfigError(cat(ranks_to_string(unnamed_ranks), " of ", assignments_.size(),
                              unnamed_ranks.size() == 1 ? " is" : " are", " nowhere in ", place_,
                              are_last
                                  ? cat("; use every rank, call these idle, or start ", named_count, " ranks")
                                  : "; use every rank, or call these idle"));
    }

private:
    struct Assignment {
        bool is_working = false;  // has a stage
        bool is_idle = false;
        std::size_t stage = 0;    // the last recorded stage
        std::size_t replica = 0;  // index of its replica of that stage
    };

    Assignment& find_assignment(int rank) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= assignments_.size()) {
            throw ConfigError(cat(place_, " names rank ", rank, " and there are ", assignments_.size(),
                                  " ranks, 0-", assignments_.size() - 1, "; use other ranks or start more"));
        }
        return assignments_[static_cast<std::size_t>(rank)];
    }

    const std::vector<int>& find_ranks(const Assignment& assignment) const {
        return layout_.stages[assignment.stage].replicas[assignment.replica].ranks;
    }

    [[noreturn]] void refuse_two_replicas(int rank, const Assignment& assignment, std::size_t replica) const {
        if (assignment.replica == replica) {
            throw ConfigError(cat("rank ", rank, " is twice in replica ", replica, " of stage ",
                                  assignment.stage, " of ", place_, "; name it once"));
        }
        throw ConfigError(cat("rank ", rank, " is in replicas ", assignment.replica, " and ", replica,
                              " of stage ", assignment.stage, " of ", place_, "; name it in one of them"));
    }

    [[noreturn]] void refuse_two_teams(int rank, const Assignment& one, const Assignment& other) const {
        throw ConfigError(cat("rank ", rank, " is in two stages of ", place_, ": with ",
                              ranks_to_string(find_ranks(one)), " in stage ", one.stage, ", and with ",
                              ranks_to_string(find_ranks(other)), " in stage ", other.stage,
                              "; name it in one of them, or the same ranks in the same order in both"));
    }

    const Layout& layout_;
    const std::string& place_;
    std::vector<Assignment> assignments_;
};

void check_ranks(const Layout& layout, int ranks, const std::string& place) {
    RankAssignments assignments(layout, ranks, place);
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const auto& replicas = layout.stages[s].replicas;
        for (std::size_t r = 0; r < replicas.size(); ++r) {
            for (const int rank : replicas[r].ranks) assignments.add_replica_rank(rank, s, r);
        }
    }
    for (const int rank : layout.idle) assignments.add_idle_rank(rank);
    assignments.check_all_ranks_named();
}

}  // namespace

void check_layout(const Layout& layout, int ranks, std::size_t layers, const std::string& place) {
    check_layers(layout, layers, place);
    check_replicas(layout, place);
    check_ranks(layout, ranks, place);
}

}  // namespace trireme::layout
