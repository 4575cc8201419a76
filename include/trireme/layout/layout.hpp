// Who holds what: stages, their replicas, and the shares of each replica's ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// The ranks that hold one copy of a stage together. Shares are in proportion: 5, 2, 1. So are the turns that
// replicas of a stage take at the micro-batches of a step.
struct ReplicaLayout {
    std::vector<int> ranks = {};
    std::vector<std::size_t> shares = {};  // as many as ranks
    std::size_t turns = 1;

    friend bool operator==(const ReplicaLayout&, const ReplicaLayout&) = default;
};

struct StageLayout {
    Range layers;  // of the model's list: halves of blocks count one each
    std::vector<ReplicaLayout> replicas = {};

    friend bool operator==(const StageLayout&, const StageLayout&) = default;
};

struct Layout {
    std::size_t layers = 0;  // of the model
    std::vector<StageLayout> stages = {};
    std::vector<int> idle = {};

    friend bool operator==(const Layout&, const Layout&) = default;
};

// A team is the ranks of a replica; it may hold replicas of several stages.
struct Team {
    std::vector<int> ranks;
    std::vector<int> stages;  // ascending
};

// Which stages a rank holds that is the p-th of its row.
//   looped     p, p + pipe, ...
//   v_shaped   p and 2 * pipe - 1 - p, two in all: the model goes down the row and comes back
enum class ChunkPlacement : std::uint8_t { looped, v_shaped };

struct Grid {
    int pipe = 1;
    int data = 1;
    int tensor = 1;
    int chunks = 1;  // stages of a rank
    ChunkPlacement placement = ChunkPlacement::looped;
    std::vector<std::size_t> shares = {};  // of the tensor ranks of every replica; empty: even
};

// The regular grid: rank (p * data + d) * tensor + t holds share t of replica d of the stages that `placement`
// gives the p-th of a row; tensor ranks are neighbours, so that they share a node. `cuts` has the layers of
// each of the pipe * chunks stages.
Layout grid_layout(const Grid& grid, const std::vector<std::size_t>& cuts);

// Throws ConfigError where the layout contradicts itself or does not fit `ranks` ranks and a model of `layers`
// layers, in one sentence that says what to change: layers missing or held twice, a stage without a replica, a
// rank that is in two replicas of a stage, in two teams of unlike ranks, both idle and working, or nowhere; as
// many shares as ranks; a replica without a turn; ranks outside 0..ranks-1. `place` is the file's name, or "the
// grid".
void check_layout(const Layout& layout, int ranks, std::size_t layers, const std::string& place);

// In the order (replica within the team's first stage, that stage): team d * pipe + p on a grid.
std::vector<Team> teams_of(const Layout& layout);

// The number of the team that replica `replica` of stage `stage` is.
int team_of(const std::vector<Team>& teams, const Layout& layout, int stage, int replica);

// -1: the rank is idle.
int team_of_rank(const std::vector<Team>& teams, int rank);

// Whether all stages have equally many replicas and teams hold stages p, p + pipe, ...: what interleaved
// schedules are made for. Shares may be uneven.
bool is_grid(const Layout& layout);

// Likewise for stages p and 2 * pipe - 1 - p. With a pipe of 1 both are the same.
bool is_v(const Layout& layout);

// Whether the replicas of each stage have as many turns.
bool takes_even_turns(const Layout& layout);

// For people: "stage 0: layers 0-6, rank 0 | rank 1", with the halves of blocks as .5: one line for each stage.
std::string to_string(const Layout& layout);

// "rank 4", "ranks 0,1", "ranks 0-3,8": three or more neighbours in a row are a run.
std::string text_of_ranks(const std::vector<int>& ranks);

}  // namespace trireme::layout
