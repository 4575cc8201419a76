// The assignment of layers to ranks: stages, their replicas, and the shares of each replica's ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

// The tensor-parallel ranks that together hold one copy of a stage.
struct ReplicaLayout {
    std::vector<int> ranks = {};
    std::vector<std::size_t> shares = {};  // per rank: relative size of its tensor slices, for example 5, 2, 1
    std::size_t turns = 1;                 // relative number of micro-batches that the replica executes

    friend bool operator==(const ReplicaLayout&, const ReplicaLayout&) = default;
};

struct StageLayout {
    Range layers;  // indices into the model's layers; a block is two layers, attention and MLP
    std::vector<ReplicaLayout> replicas = {};

    friend bool operator==(const StageLayout&, const StageLayout&) = default;
};

// The assignment of all layers of a model to ranks.
struct Layout {
    std::size_t layers = 0;  // number of layers of the model
    std::vector<StageLayout> stages = {};
    std::vector<int> idle = {};  // ranks of the job without a stage

    friend bool operator==(const Layout&, const Layout&) = default;
};

// The ranks of a tensor group, and the stages of which they hold a replica.
struct Team {
    std::vector<int> ranks;
    std::vector<int> stages;  // ascending
};

// The stages of the team at position p of a pipeline of `pipe` teams.
//   looped     p, p + pipe, p + 2 * pipe, ... (interleaved schedules)
//   v_shaped   p and 2 * pipe - 1 - p: stages run from the first team to the last, and back to the first
//              (always two chunks)
enum class ChunkPlacement : std::uint8_t { looped, v_shaped };

// A regular layout: sizes of the pipeline-, data- and tensor-parallel dimensions.
struct Grid {
    int pipe = 1;
    int data = 1;
    int tensor = 1;
    int chunks = 1;  // stages per rank
    ChunkPlacement placement = ChunkPlacement::looped;
    std::vector<std::size_t> shares = {};  // per rank of every tensor group; empty means equal shares
};

// Returns the layout of a grid. Rank (p * data + d) * tensor + t is rank t of the tensor group that holds
// replica d of the stages of pipeline position p: see ChunkPlacement. The ranks of a tensor group are adjacent,
// so that they can share a node. `cuts` has the number of layers of each of the pipe * chunks stages.
Layout make_grid_layout(const Grid& grid, const std::vector<std::size_t>& cuts);

// Throws ConfigError if the layout contradicts itself or does not fit `ranks` ranks and a model of `layers`
// layers. The message says what to change. Errors are: a layer in no stage or in two; a stage without a layer
// or without a replica; a replica without a rank or without a turn; a number of shares that differs from the
// number of ranks; a share of 0; a rank outside 0..ranks-1; a rank that is in a stage twice, or in two teams
// with different ranks; a rank that is both idle and in a stage, or neither. Stages must be in the order of
// their layers. `place` names the layout in messages: a file name, or "the grid".
void check_layout(const Layout& layout, int ranks, std::size_t layers, const std::string& place);

// Returns the teams, sorted by their replica index in their first stage, then by the index of this stage. On a
// grid, team d * pipe + p is at position p of the pipeline of data-parallel replica d.
std::vector<Team> make_teams(const Layout& layout);

// Returns the number of replicas of the stage that has the fewest.
std::size_t count_pipelines(const Layout& layout);

// Returns the index of the team that holds replica `replica` of stage `stage`.
int find_team(const std::vector<Team>& teams, const Layout& layout, int stage, int replica);

// Returns the index of the rank's team, or -1 if the rank is idle.
int find_team_of_rank(const std::vector<Team>& teams, int rank);

// True if all stages have the same number of replicas, and the teams hold the stages of ChunkPlacement::looped,
// as interleaved schedules require. Each team must have the same replica index in all its stages. Shares may be
// uneven.
bool is_grid(const Layout& layout);

// True if the teams hold the stages of ChunkPlacement::v_shaped, and the layout satisfies the other conditions
// of is_grid(). With one team per pipeline, is_v_shaped() and is_grid() may both be true.
bool is_v_shaped(const Layout& layout);

// True if the replicas of each stage have equal turns.
bool has_even_turns(const Layout& layout);

// Describes the layout for users, with one line per stage, for example "stage 0: layers 0-6, rank 0 | rank 1",
// with "|" between replicas. In this text, a layer is the embedding, a block or the head, and half a block
// counts as .5. Uneven shares and several turns follow the ranks, for example "ranks 0-2 (5:2:1) x3". A last
// line lists the idle ranks, if any.
std::string to_string(const Layout& layout);

// Returns e.g. "rank 4", "ranks 0,1" or "ranks 0-3,8". Three or more consecutive ranks become an interval.
std::string ranks_to_string(const std::vector<int>& ranks);

}  // namespace trireme::layout
