#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/layout/layout.hpp"

namespace trireme::layout {
namespace {

// Returns e.g. "layer 3" or "layers 3-5" for the layers from `begin` to `end` - 1.
std::string describe_layers(std::size_t begin, std::size_t end) {
    if (end - begin == 1) return cat("layer ", begin);
    return cat("layers ", begin, "-", end - 1);
}

void check_first_layer(const Layout& layout, std::size_t stage, std::size_t expected_begin,
                       const std::string& place) {
    const std::size_t begin = layout.stages[stage].layers.begin;
    if (begin > expected_begin) {
        throw ConfigError(cat("no stage of ", place, " holds ", describe_layers(expected_begin, begin),
                              "; let stage ", stage, " begin at layer ", expected_begin));
    }
    if (begin < expected_begin) {
        throw ConfigError(cat("stage ", stage, " of ", place, " begins at layer ", begin, ", but stage ",
                              stage - 1, " ends with layer ", expected_begin - 1, "; let stage ", stage,
                              " begin at layer ", expected_begin));
    }
}

void check_layers(const Layout& layout, std::size_t layers, const std::string& place) {
    if (layout.layers != layers) {
        throw ConfigError(cat(place, " is for a model of ", layout.layers, " layers, but this model has ",
                              layers, " (each half of a block is one layer); use a layout for this model"));
    }
    if (layout.stages.empty()) throw ConfigError(cat(place, " has no stage; name at least one"));
    std::size_t next_layer = 0;  // first layer after the stages that have been checked
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const Range stage_layers = layout.stages[s].layers;
        if (stage_layers.count == 0) {
            throw ConfigError(
                cat("stage ", s, " of ", place, " has no layer; give it at least one, or remove the stage"));
        }
        check_first_layer(layout, s, next_layer, place);
        next_layer = stage_layers.end();
    }
    const std::size_t last_stage = layout.stages.size() - 1;
    if (next_layer < layers) {
        throw ConfigError(cat("no stage of ", place, " holds ", describe_layers(next_layer, layers),
                              "; let stage ", last_stage, " end with layer ", layers - 1));
    }
    if (next_layer > layers) {
        throw ConfigError(cat("stage ", last_stage, " of ", place, " ends with layer ", next_layer - 1,
                              ", but the last layer of the model is ", layers - 1,
                              "; let the stage end with layer ", layers - 1));
    }
}

void check_ranks_and_shares(const ReplicaLayout& replica, const std::string& replica_name) {
    if (replica.ranks.empty())
        throw ConfigError(cat(replica_name, " has no rank; give it at least one, or remove the replica"));
    if (replica.shares.size() != replica.ranks.size()) {
        throw ConfigError(cat(replica_name, " has ", format_count(replica.ranks.size(), "rank"), " but ",
                              format_count(replica.shares.size(), "share"),
                              "; give each of its ranks one share"));
    }
    const auto zero_share = std::ranges::find(replica.shares, 0U);
    if (zero_share == replica.shares.end()) return;
    throw ConfigError(cat(replica_name, " gives rank ",
                          replica.ranks[static_cast<std::size_t>(zero_share - replica.shares.begin())],
                          " a share of 0; make the share at least 1, or remove the rank"));
}

void check_replicas(const Layout& layout, const std::string& place) {
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const auto& replicas = layout.stages[s].replicas;
        if (replicas.empty()) {
            throw ConfigError(
                cat("stage ", s, " of ", place, " has no replica; give it at least one, with its ranks"));
        }
        for (std::size_t r = 0; r < replicas.size(); ++r) {
            const std::string replica_name = cat("replica ", r, " of stage ", s, " of ", place);
            check_ranks_and_shares(replicas[r], replica_name);
            if (replicas[r].turns == 0)
                throw ConfigError(cat(replica_name, " has 0 turns; give it at least 1, or remove the replica"));
        }
    }
}

// Records for each rank that it holds a replica or that it is idle. Throws ConfigError on contradictions.
class RankAssignments {
public:
    RankAssignments(const Layout& layout, int ranks, const std::string& place)
        : layout_(layout), place_(place), assignments_(static_cast<std::size_t>(ranks)) {}

    void add_replica_rank(int rank, std::size_t stage, std::size_t replica) {
        Assignment& assignment = find_assignment(rank);
        const Assignment new_assignment{
            .is_working = true, .is_idle = false, .stage = stage, .replica = replica};
        if (assignment.is_working && assignment.stage == stage) throw_twice_in_stage(rank, assignment, replica);
        if (assignment.is_working && find_ranks(assignment) != find_ranks(new_assignment))
            throw_in_two_teams(rank, assignment, new_assignment);
        assignment = new_assignment;
    }

    void add_idle_rank(int rank) {
        Assignment& assignment = find_assignment(rank);
        if (assignment.is_working) {
            throw ConfigError(cat("rank ", rank, " is both idle and in replica ", assignment.replica,
                                  " of stage ", assignment.stage, " of ", place_, "; name it only once"));
        }
        if (assignment.is_idle)
            throw ConfigError(cat(place_, " lists rank ", rank, " as idle twice; list it once"));
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
        const bool are_last_ranks = static_cast<std::size_t>(unnamed_ranks.front()) == named_count;
        throw ConfigError(
            cat(place_, " does not name ", ranks_to_string(unnamed_ranks), " of ", assignments_.size(),
                "; add every rank to a replica or to \"idle\"",
                are_last_ranks ? cat(", or start only ", format_count(named_count, "rank")) : ""));
    }

private:
    struct Assignment {
        bool is_working = false;  // holds a replica
        bool is_idle = false;
        std::size_t stage = 0;    // the stage recorded last; 0 if not working
        std::size_t replica = 0;  // index of the rank's replica of `stage`
    };

    Assignment& find_assignment(int rank) {
        if (rank < 0 || static_cast<std::size_t>(rank) >= assignments_.size()) {
            throw ConfigError(cat(place_, " names rank ", rank, ", but the job has ranks 0 to ",
                                  assignments_.size() - 1, "; name only these ranks, or start more"));
        }
        return assignments_[static_cast<std::size_t>(rank)];
    }

    // Returns all ranks of the replica that `assignment` names.
    const std::vector<int>& find_ranks(const Assignment& assignment) const {
        return layout_.stages[assignment.stage].replicas[assignment.replica].ranks;
    }

    [[noreturn]] void throw_twice_in_stage(int rank, const Assignment& assignment, std::size_t replica) const {
        if (assignment.replica == replica) {
            throw ConfigError(cat("rank ", rank, " is twice in replica ", replica, " of stage ",
                                  assignment.stage, " of ", place_, "; name it once"));
        }
        throw ConfigError(cat("rank ", rank, " is in replicas ", assignment.replica, " and ", replica,
                              " of stage ", assignment.stage, " of ", place_, "; name it in one of them"));
    }

    [[noreturn]] void throw_in_two_teams(int rank, const Assignment& first, const Assignment& second) const {
        throw ConfigError(cat("rank ", rank, " is in two stages of ", place_, ": with ",
                              ranks_to_string(find_ranks(first)), " in stage ", first.stage, ", and with ",
                              ranks_to_string(find_ranks(second)), " in stage ", second.stage,
                              "; name it in one stage, or give both stages the same ranks in the same order"));
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
