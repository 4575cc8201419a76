#include "mover/move_pieces.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>

#include "trireme/base/error.hpp"

namespace trireme::mover {
namespace {

// Returns the highest rank that holds a slice, plus one.
int count_ranks(const std::vector<layout::HeldTensor>& tensors) {
    int ranks = 0;
    for (const layout::HeldTensor& tensor : tensors) {
        for (const layout::Slice& slice : tensor.slices) ranks = std::max(ranks, slice.rank + 1);
    }
    return ranks;
}

using TensorsByName = std::unordered_map<std::string, const layout::HeldTensor*>;

TensorsByName index_by_name(const std::vector<layout::HeldTensor>& tensors) {
    TensorsByName index;
    for (const layout::HeldTensor& tensor : tensors) index.emplace(tensor.name, &tensor);
    return index;
}

// Returns a tensor with the slices before and after the move. The ranks of the slices of `after` are increased
// by `rank_offset`, so that holders before and after the move remain distinct. `before` is null if the tensor
// has no slices before the move.
layout::HeldTensor merge_slices(const layout::HeldTensor* before, const layout::HeldTensor& after,
                                int rank_offset) {
    layout::HeldTensor merged = after;
    for (layout::Slice& slice : merged.slices) slice.rank += rank_offset;
    if (before == nullptr) return merged;
    if (before->rows != after.rows || before->columns != after.columns) {
        throw BugError(cat(after.name, " is ", before->rows, " x ", before->columns, " before a move and ",
                           after.rows, " x ", after.columns, " after it"));
    }
    merged.slices.insert(merged.slices.end(), before->slices.begin(), before->slices.end());
    return merged;
}

// `merged` is a piece of a tensor from merge_slices(). Separates its holders before the move from its holders
// after the move.
MovePiece make_move_piece(layout::Piece merged, int rank_offset) {
    const auto first_after = std::ranges::lower_bound(merged.holders, rank_offset);
    MovePiece piece{.tensor = merged.tensor,
                    .box = merged.box,
                    .before = {merged.holders.begin(), first_after},
                    .after = {}};
    for (auto holder = first_after; holder != merged.holders.end(); ++holder)
        piece.after.push_back(*holder - rank_offset);
    return piece;
}

}  // namespace

std::vector<MovePiece> make_move_pieces(const std::vector<layout::HeldTensor>& before,
                                        const std::vector<layout::HeldTensor>& after) {
    const int rank_offset = count_ranks(before);
    const TensorsByName before_by_name = index_by_name(before);
    std::vector<MovePiece> pieces;
    for (std::size_t t = 0; t < after.size(); ++t) {
        const auto entry = before_by_name.find(after[t].name);
        const layout::HeldTensor* const former = entry == before_by_name.end() ? nullptr : entry->second;
        if (former != nullptr && former->rows == after[t].rows && former->columns == after[t].columns &&
            is_whole_on_each_rank(*former) && is_whole_on_each_rank(after[t])) {
            pieces.push_back({.tensor = t,
                              .box = after[t].slices.front().box,
                              .before = list_ranks(former->slices),
                              .after = list_ranks(after[t].slices)});
            continue;
        }
        for (layout::Piece& merged_piece :
             layout::cut_in_pieces({merge_slices(former, after[t], rank_offset)})) {
            merged_piece.tensor = t;
            MovePiece piece = make_move_piece(std::move(merged_piece), rank_offset);
            if (piece.after.empty()) continue;
            if (piece.before.empty())
                throw BugError(cat("rank ", piece.after.front(), " needs elements of ", after[t].name,
                                   ", from row ", piece.box.rows.begin,
                                   ", after a move, but no rank holds these elements before the move"));
            pieces.push_back(std::move(piece));
        }
    }
    return pieces;
}

std::vector<layout::Box> cut_box(const layout::Box& box, std::size_t max_elements) {
    const std::size_t max_columns = std::min(box.columns.count, max_elements);
    const std::size_t max_rows = max_columns < box.columns.count ? 1 : max_elements / max_columns;
    std::vector<layout::Box> boxes;
    for (std::size_t row = 0; row < box.rows.count; row += max_rows) {
        for (std::size_t column = 0; column < box.columns.count; column += max_columns) {
            boxes.push_back({{box.rows.begin + row, std::min(max_rows, box.rows.count - row)},
                             {box.columns.begin + column, std::min(max_columns, box.columns.count - column)}});
        }
    }
    return boxes;
}

std::vector<int> MovePiece::list_receiving_ranks() const {
    std::vector<int> ranks;
    std::ranges::set_difference(after, before, std::back_inserter(ranks));
    return ranks;
}

std::vector<int> MovePiece::list_retaining_ranks() const {
    std::vector<int> ranks;
    std::ranges::set_intersection(after, before, std::back_inserter(ranks));
    return ranks;
}

bool LeastLoadedRankChooser::are_on_same_node(int rank, int other_rank) const {
    return nodes_.empty() ||
           nodes_.at(static_cast<std::size_t>(rank)) == nodes_.at(static_cast<std::size_t>(other_rank));
}

int LeastLoadedRankChooser::choose(const std::vector<int>& holders, int destination, std::size_t elements) {
    const int best = *std::ranges::min_element(holders, {}, [&](int rank) {
        return std::tuple(!are_on_same_node(rank, destination), sent_elements_[rank], rank);
    });
    sent_elements_[best] += elements;
    return best;
}

}  // namespace trireme::mover
