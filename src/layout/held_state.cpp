#include "trireme/layout/held_state.hpp"

#include <algorithm>
#include <tuple>

namespace trireme::layout {
namespace {

void sort(std::vector<TensorBox>& boxes) {
    std::ranges::sort(boxes, {}, [](const TensorBox& held) {
        return std::tuple(held.tensor, held.box.columns.begin, held.box.columns.count, held.box.rows.begin);
    });
}

// Merges vertically adjacent boxes with equal columns.
std::vector<TensorBox> joined(std::vector<TensorBox> boxes) {
    sort(boxes);
    std::vector<TensorBox> all;
    for (const TensorBox& held : boxes) {
        const bool goes_on = !all.empty() && all.back().tensor == held.tensor &&
                             all.back().box.columns == held.box.columns &&
                             all.back().box.rows.end() == held.box.rows.begin;
        if (goes_on) {
            all.back().box.rows.count += held.box.rows.count;
        } else {
            all.push_back(held);
        }
    }
    std::ranges::sort(all, {}, [](const TensorBox& held) {
        return std::tuple(held.tensor, held.box.rows.begin, held.box.columns.begin);
    });
    return all;
}

std::vector<TensorBox> values_of(const std::vector<HeldTensor>& tensors, int rank) {
    std::vector<TensorBox> boxes;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
        for (const Slice& slice : tensors[t].slices) {
            if (slice.rank != rank || slice.box.is_empty()) continue;
            const TensorBox held{t, slice.box};  // listed once, even if two stages of the rank use it
            if (std::ranges::find(boxes, held) == boxes.end()) boxes.push_back(held);
        }
    }
    return joined(std::move(boxes));
}

std::vector<TensorBox> owned_by(int rank, const std::vector<Piece>& pieces,
                                const std::vector<Bucket>& buckets) {
    std::vector<TensorBox> boxes;
    for (const Bucket& bucket : buckets) {
        for (const Shard& shard : bucket.shards) {
            if (shard.owner != rank || shard.box.is_empty()) continue;
            boxes.push_back({pieces[shard.piece].tensor, shard.box});
        }
    }
    return joined(std::move(boxes));
}

}  // namespace

HeldState held_state(const std::vector<HeldTensor>& tensors, const std::vector<Piece>& pieces,
                     const std::vector<Bucket>& buckets, bool shards_optimizer, int rank) {
    HeldState held{.values = values_of(tensors, rank), .moments = {}, .owned = owned_by(rank, pieces, buckets)};
    held.moments = shards_optimizer ? held.owned : held.values;
    return held;
}

std::vector<Placement> placements_within(const std::vector<Placement>& placements, const Box& local) {
    std::vector<Placement> found;
    for (const auto& [box, row, column] : placements) {
        const Box part = intersection({{row, box.rows.count}, {column, box.columns.count}}, local);
        if (part.is_empty()) continue;
        found.push_back({.box = {{box.rows.begin + part.rows.begin - row, part.rows.count},
                                 {box.columns.begin + part.columns.begin - column, part.columns.count}},
                         .row = part.rows.begin - local.rows.begin,
                         .column = part.columns.begin - local.columns.begin});
    }
    return found;
}

}  // namespace trireme::layout
