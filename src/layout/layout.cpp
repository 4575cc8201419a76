#include "trireme/layout/layout.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::layout {
namespace {

ReplicaLayout grid_replica(const Grid& grid, int pipe, int data) {
    const int first = (pipe * grid.data + data) * grid.tensor;
    ReplicaLayout replica{.ranks = {}, .shares = grid.shares};
    for (int t = 0; t < grid.tensor; ++t) replica.ranks.push_back(first + t);
    if (replica.shares.empty()) replica.shares.assign(replica.ranks.size(), 1);
    return replica;
}

int place_in_row(const Grid& grid, int stage) {
    const bool comes_back = grid.placement == ChunkPlacement::v_shaped && stage >= grid.pipe;
    return comes_back ? 2 * grid.pipe - 1 - stage : stage % grid.pipe;
}

// Returns the position of a layer in half items. Items (embedding, block, ..., block, head) count two halves
// each; only the embedding, layer 0, is a whole item by itself.
std::size_t half_items(std::size_t layer) { return layer == 0 ? 0 : layer + 1; }

std::string text_of_halves(std::size_t halves) {
    return std::to_string(halves / 2) + (halves % 2 == 1 ? ".5" : "");
}

// Returns "layers 0-3", or "layers 0-3.5" and "layers 3.5-6" if a cut falls inside block 3. The end of a model
// of `all` layers counts as a whole item, even if the model has no final norm.
std::string text_of_layers(Range layers, std::size_t all) {
    const std::size_t begin = half_items(layers.begin);
    const std::size_t halves = half_items(layers.end());
    const std::size_t end = layers.end() == all ? halves + halves % 2 : halves;
    const std::size_t last = end % 2 == 0 ? end - 2 : end;
    if (last <= begin) return "layer " + text_of_halves(begin);
    return "layers " + text_of_halves(begin) + "-" + text_of_halves(last);
}

bool are_even(const std::vector<std::size_t>& shares) {
    return std::ranges::adjacent_find(shares, std::ranges::not_equal_to{}) == shares.end();
}

// Returns e.g. " (5:2:1)", or nothing if shares are even.
std::string text_of_shares(const std::vector<std::size_t>& shares) {
    if (are_even(shares)) return "";
    std::string text = " ";
    char mark = '(';
    for (const std::size_t share : shares) {
        text += mark + std::to_string(share);
        mark = ':';
    }
    return text + ')';
}

std::string text_of_replica(const ReplicaLayout& replica) {
    const std::string turns = replica.turns == 1 ? "" : cat(" x", replica.turns);
    return text_of_ranks(replica.ranks) + text_of_shares(replica.shares) + turns;
}

}  // namespace

Layout grid_layout(const Grid& grid, const std::vector<std::size_t>& cuts) {
    const auto stages = static_cast<std::size_t>(grid.pipe) * static_cast<std::size_t>(grid.chunks);
    if (cuts.size() != stages) {
        throw BugError(cat("a grid of ", stages, " stages was given the layers of ", cuts.size()));
    }
    if (grid.placement == ChunkPlacement::v_shaped && grid.chunks != 2) {
        throw BugError(cat("a V has 2 stages on each rank and was given ", grid.chunks));
    }
    Layout layout;
    for (int s = 0; s < grid.pipe * grid.chunks; ++s) {
        const std::size_t length = cuts[static_cast<std::size_t>(s)];
        StageLayout& stage = layout.stages.emplace_back(StageLayout{{layout.layers, length}, {}});
        for (int d = 0; d < grid.data; ++d) {
            stage.replicas.push_back(grid_replica(grid, place_in_row(grid, s), d));
        }
        layout.layers += length;
    }
    return layout;
}

bool takes_even_turns(const Layout& layout) {
    return std::ranges::all_of(layout.stages, [](const StageLayout& stage) {
        return std::ranges::adjacent_find(stage.replicas, std::ranges::not_equal_to{}, &ReplicaLayout::turns) ==
               stage.replicas.end();
    });
}

std::string to_string(const Layout& layout) {
    std::string text;
    for (std::size_t s = 0; s < layout.stages.size(); ++s) {
        const StageLayout& stage = layout.stages[s];
        text += cat("stage ", s, ": ", text_of_layers(stage.layers, layout.layers));
        const char* mark = ", ";
        for (const ReplicaLayout& replica : stage.replicas) {
            text += mark + text_of_replica(replica);
            mark = " | ";
        }
        text += '\n';
    }
    if (!layout.idle.empty()) text += "idle: " + text_of_ranks(layout.idle) + '\n';
    return text;
}

std::string text_of_ranks(const std::vector<int>& ranks) {
    return (ranks.size() == 1 ? "rank " : "ranks ") + number_list(ranks);
}

}  // namespace trireme::layout
