#include "trireme/layout/held_state.hpp"

#include <algorithm>
#include <tuple>

#include "trireme/layout/shares.hpp"

namespace trireme::layout {
namespace {

// Sorts `boxes` by tensor, then columns, then first row. Vertically adjacent boxes with equal columns become
// neighbors.
void sort_by_columns(std::vector<TensorBox>& boxes) {
    std::ranges::sort(boxes, {}, [](const TensorBox& tensor_box) {
        return std::tuple(tensor_box.tensor, tensor_box.box.columns.begin, tensor_box.box.columns.count,
                          tensor_box.box.rows.begin);
    });
}

// Merges vertically adjacent boxes with equal columns.
std::vector<TensorBox> merge_adjacent_boxes(std::vector<TensorBox> boxes) {
    sort_by_columns(boxes);
    std::vector<TensorBox> merged;
    for (const TensorBox& tensor_box : boxes) {
        const bool extends_last = !merged.empty() && merged.back().tensor == tensor_box.tensor &&
                                  merged.back().box.columns == tensor_box.box.columns &&
                                  merged.back().box.rows.end() == tensor_box.box.rows.begin;
        if (extends_last) {
            merged.back().box.rows.count += tensor_box.box.rows.count;
        } else {
            merged.push_back(tensor_box);
        }
    }
    std::ranges::sort(merged, {}, [](const TensorBox& tensor_box) {
        return std::tuple(tensor_box.tensor, tensor_box.box.rows.begin, tensor_box.box.columns.begin);
    });
    return merged;
}

// Returns the boxes of trained tensors, or of all tensors, that `rank` holds. A box that several stages of the
// rank use is listed once.
std::vector<TensorBox> list_held_boxes(const std::vector<HeldTensor>& tensors, bool are_all, int rank) {
    std::vector<TensorBox> boxes;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        if (!are_all && !tensors[t].is_trained) continue;
        for (const Slice& slice : tensors[t].slices) {
            if (slice.rank != rank || slice.box.is_empty()) continue;
            const TensorBox tensor_box{t, slice.box};
            if (std::ranges::find(boxes, tensor_box) == boxes.end()) boxes.push_back(tensor_box);
        }
    }
    return merge_adjacent_boxes(std::move(boxes));
}

// Returns the shards that `rank` owns.
std::vector<TensorBox> list_owned_shards(int rank, const std::vector<Piece>& pieces,
                                         const std::vector<Bucket>& buckets) {
    std::vector<TensorBox> boxes;
    for (const Bucket& bucket : buckets) {
        for (const Shard& shard : bucket.shards) {
            if (shard.owner != rank || shard.box.is_empty()) continue;
            boxes.push_back({pieces[shard.piece].tensor, shard.box});
        }
    }
    return merge_adjacent_boxes(std::move(boxes));
}

}  // namespace

std::vector<TensorBox> list_owned_frozen_boxes(const std::vector<HeldTensor>& tensors,
                                               const std::vector<Piece>& pieces, int rank) {
    std::vector<TensorBox> boxes;
    for (const Piece& piece : pieces) {
        const auto holder = std::ranges::lower_bound(piece.holders, rank);
        if (tensors[piece.tensor].is_trained || holder == piece.holders.end() || *holder != rank) continue;
        Box box = piece.box;
        box.rows = cut_evenly(piece.box.rows.count,
                              piece.holders.size())[static_cast<std::size_t>(holder - piece.holders.begin())];
        box.rows.begin += piece.box.rows.begin;
        if (!box.is_empty()) boxes.push_back({piece.tensor, box});
    }
    return boxes;
}

HeldState make_held_state(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                          const std::vector<Bucket>& buckets, bool shards_optimizer, int rank) {
    const std::vector<TensorBox> owned_shards = list_owned_shards(rank, pieces, buckets);
    HeldState state{.values = list_held_boxes(tensors, /*are_all=*/true, rank), .moments = {}, .owned = {}};
    state.moments = shards_optimizer ? owned_shards : list_held_boxes(tensors, /*are_all=*/false, rank);
    state.owned = list_owned_frozen_boxes(tensors, pieces, rank);
    state.owned.insert(state.owned.end(), owned_shards.begin(), owned_shards.end());
    state.owned = merge_adjacent_boxes(std::move(state.owned));
    return state;
}

std::vector<Placement> find_placements_within(const std::vector<Placement>& placements, const Box& local) {
    std::vector<Placement> found;
    for (const auto& [box, row, column] : placements) {
        const Box overlap = intersect({{row, box.rows.count}, {column, box.columns.count}}, local);
        if (overlap.is_empty()) continue;
        found.push_back({.box = {{box.rows.begin + overlap.rows.begin - row, overlap.rows.count},
                                 {box.columns.begin + overlap.columns.begin - column, overlap.columns.count}},
                         .row = overlap.rows.begin - local.rows.begin,
                         .column = overlap.columns.begin - local.columns.begin});
    }
    return found;
}

}  // namespace trireme::layout
