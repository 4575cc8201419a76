#include "trireme/layout/layout.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::layout {
namespace {

ReplicaLayout make_grid_replica(const Grid& grid, int pipe_position, int replica_index) {
    const int first_rank = (pipe_position * grid.data + replica_index) * grid.tensor;
    ReplicaLayout replica{.ranks = {}, .shares = grid.shares};
    for (int t = 0; t < grid.tensor; ++t) replica.ranks.push_back(first_rank + t);
    if (replica.shares.empty()) replica.shares.assign(replica.ranks.size(), 1);
    return replica;
}

// Returns the position in the pipeline of the team that holds `stage`.
int find_pipe_position(const Grid& grid, int stage) {
    const bool is_second_chunk_of_v = grid.placement == ChunkPlacement::v_shaped && stage >= grid.pipe;
    return is_second_chunk_of_v ? 2 * grid.pipe - 1 - stage : stage % grid.pipe;
}

// Returns the number of half items before a layer. An item is the embedding, a block or the head, and counts as
// two halves. The embedding, layer 0, is one layer but a whole item; any other layer is half an item.
std::size_t count_half_items(std::size_t layer) { return layer == 0 ? 0 : layer + 1; }

std::string halves_to_string(std::size_t halves) {
    return std::to_string(halves / 2) + (halves % 2 == 1 ? ".5" : "");
}

// Describes the items of a range of layers: "layers 0-3", or "layers 0-3.5" and "layers 3.5-6" if a cut falls
// inside block 3. The last item of a model of `model_layers` layers is complete even if the model has no final
// norm.
std::string layers_to_string(Range layers, std::size_t model_layers) {
    const std::size_t begin_halves = count_half_items(layers.begin);
    const std::size_t counted_halves = count_half_items(layers.end());
    const bool is_end_of_model = layers.end() == model_layers;
    const std::size_t end_halves = is_end_of_model ? counted_halves + counted_halves % 2 : counted_halves;
    const std::size_t last_halves = end_halves % 2 == 0 ? end_halves - 2 : end_halves;
    if (last_halves <= begin_halves) return "layer " + halves_to_string(begin_halves);
    return "layers " + halves_to_string(begin_halves) + "-" + halves_to_string(last_halves);
}

bool are_equal(const std::vector<std::size_t>& shares) {
    return std::ranges::adjacent_find(shares, std::ranges::not_equal_to{}) == shares.end();
}

// Returns e.g. " (5:2:1)", or an empty string if the shares are equal.
std::string shares_to_string(const std::vector<std::size_t>& shares) {
    if (are_equal(shares)) return "";
    std::string text = " ";
    char separator = '(';
    for (const std::size_t share : shares) {
        text += separator + std::to_string(share);
        separator = ':';
    }
    return text + ')';
}

std::string replica_to_string(const ReplicaLayout& replica) {
    const std::string turns = replica.turns == 1 ? "" : cat(" x", replica.turns);
    return ranks_to_string(replica.ranks) + shares_to_string(replica.shares) + turns;
}

}  // namespace

Layout make_grid_layout(const Grid& grid, const std::vector<std::size_t>& cuts) {
    const auto stages = static_cast<std::size_t>(grid.pipe) * static_cast<std::size_t>(grid.chunks);
    if (cuts.size() != stages) {
        throw BugError(cat("a grid of ", stages, " stages was given layers for ", cuts.size(), " stages"));
    }
    if (grid.placement == ChunkPlacement::v_shaped && grid.chunks != 2) {
        throw BugError(cat("a V-shaped grid has 2 stages per rank, not ", grid.chunks));
    }
    Layout layout;
    for (int s = 0; s < grid.pipe * grid.chunks; ++s) {
        const std::size_t length = cuts[static_cast<std::size_t>(s)];
        StageLayout& stage = layout.stages.emplace_back(StageLayout{{layout.layers, length}, {}});
        for (int d = 0; d < grid.data; ++d) {
            stage.replicas.push_back(make_grid_replica(grid, find_pipe_position(grid, s), d));
        }
        layout.layers += length;
    }
    return layout;
}

bool has_even_turns(const Layout& layout) {
    return std::ranges::all_of(layout.stages, [](const StageLayout& stage) {
        return std::ranges::adjacent_find(stage.replicas, std::ranges::not_equal_to{}, &ReplicaLayout::turns) ==
               stage.replicas.end();
    });
}

std::string to_string(const Layout& layout) {
    std::string text;
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const StageLayout& stage = layout.stages[s];
        text += cat("stage ", s, ": ", layers_to_string(stage.layers, layout.layers));
        const char* separator = ", ";
        for (const ReplicaLayout& replica : stage.replicas) {
            text += separator + replica_to_string(replica);
            separator = " | ";
        }
        text += '\n';
    }
    if (!layout.idle.empty()) text += "idle: " + ranks_to_string(layout.idle) + '\n';
    return text;
}

std::string ranks_to_string(const std::vector<int>& ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + format_ranges(ranks);
}

}  // namespace trireme::layout
