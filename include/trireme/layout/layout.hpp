// The assignment of layers to ranks: stages, their replicas, and the shares of each replica's ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// The ranks that together hold one copy of a stage. Shares are relative weights, e.g. 5, 2, 1. Turns are
// relative, too: they weight the number of a step's micro-batches per replica.
struct ReplicaLayout {
    std::vector<int> ranks = {};
    std::vector<std::size_t> shares = {};  // one per rank
    std::size_t turns = 1;

    friend bool operator==(const ReplicaLayout&, const ReplicaLayout&) = default;
};

struct StageLayout {
    Range layers;  // indices into the model's layers; half a block counts as one
    std::vector<ReplicaLayout> replicas = {};

    friend bool operator==(const StageLayout&, const StageLayout&) = default;
};

struct Layout {
    std::size_t layers = 0;  // of the model
    std::vector<StageLayout> stages = {};
    std::vector<int> idle = {};

    friend bool operator==(const Layout&, const Layout&) = default;
};

// The ranks of a replica. A team may hold replicas of several stages.
struct Team {
    std::vector<int> ranks;
    std::vector<int> stages;  // ascending
};

// The stages of the p-th rank of a pipeline row.
//   looped     p, p + pipe, ...
//   v_shaped   p and 2 * pipe - 1 - p, always two: the stages go down the row and come back
enum class ChunkPlacement : std::uint8_t { looped, v_shaped };

struct Grid {
    int pipe = 1;
    int data = 1;
    int tensor = 1;
    int chunks = 1;  // stages per rank
    ChunkPlacement placement = ChunkPlacement::looped;
    std::vector<std::size_t> shares = {};  // of the tensor ranks of every replica; empty means even
};

// Returns the regular grid. Rank (p * data + d) * tensor + t holds share t of replica d of the stages that
// `placement` gives to position p of a row. The ranks of a tensor group are adjacent, so that they share a
// node. `cuts` has the number of layers of each of the pipe * chunks stages.
Layout grid_layout(const Grid& grid, const std::vector<std::size_t>& cuts);

// Throws ConfigError if the layout contradicts itself or does not fit `ranks` ranks and a model of `layers`
// layers. The message says what to change. Errors are: a layer in no stage or in two; a stage without a
// replica; a rank twice in a stage, in two teams with different ranks, both idle and working, or missing; a
// number of shares that differs from the number of ranks; a replica without a turn; a rank outside 0..ranks-1.
// `place` is the name of the file, or "the grid".
void check_layout(const Layout& layout, int ranks, std::size_t layers, const std::string& place);

// Returns the teams, sorted by (replica number in the team's first stage, that stage): team d * pipe + p on a
// grid.
std::vector<Team> teams_of(const Layout& layout);

// Returns the index of the team that holds replica `replica` of stage `stage`.
int team_of(const std::vector<Team>& teams, const Layout& layout, int stage, int replica);

// Returns the index of the rank's team, or -1 if the rank is idle.
int team_of_rank(const std::vector<Team>& teams, int rank);

// True if all stages have equally many replicas and the teams hold stages p, p + pipe, ..., as interleaved
// schedules require. Shares may be uneven.
bool is_grid(const Layout& layout);

// The same for stages p and 2 * pipe - 1 - p. If `pipe` is 1, is_grid() is true as well.
bool is_v(const Layout& layout);

// True if the replicas of each stage have equal turns.
bool takes_even_turns(const Layout& layout);

// Describes the layout for people, one line per stage: "stage 0: layers 0-6, rank 0 | rank 1". Half a block
// counts .5.
std::string to_string(const Layout& layout);

// Returns "rank 4", "ranks 0,1" or "ranks 0-3,8". Three or more consecutive ranks become an interval.
std::string text_of_ranks(const std::vector<int>& ranks);

}  // namespace trireme::layout
