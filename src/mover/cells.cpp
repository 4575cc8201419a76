#include "mover/cells.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <unordered_map>

#include "trireme/base/error.hpp"

namespace trireme::mover {
namespace {

int number_of_ranks(const std::vector<layout::HeldTensor>& tensors) {
    int ranks = 0;
    for (const layout::HeldTensor& tensor : tensors) {
        for (const layout::Slice& slice : tensor.slices) ranks = std::max(ranks, slice.rank + 1);
    }
    return ranks;
}

using ByName = std::unordered_map<std::string, const layout::HeldTensor*>;

ByName by_name(const std::vector<layout::HeldTensor>& tensors) {
    ByName named;
    for (const layout::HeldTensor& tensor : tensors) named.emplace(tensor.name, &tensor);
    return named;
}

// Returns a tensor with the slices of both; the ranks of the slices of `after` are raised by `shift`.
layout::HeldTensor joined(const layout::HeldTensor* before, const layout::HeldTensor& after, int shift) {
    layout::HeldTensor both = after;
    for (layout::Slice& slice : both.slices) slice.rank += shift;
    if (before == nullptr) return both;
    if (before->rows != after.rows || before->columns != after.columns) {
        throw BugError(cat(after.name, " is ", before->rows, " x ", before->columns, " before a move and ",
                           after.rows, " x ", after.columns, " after it"));
    }
    both.slices.insert(both.slices.end(), before->slices.begin(), before->slices.end());
    return both;
}

Cell cell_of(layout::Piece piece, int shift) {
    const auto first_after = std::ranges::lower_bound(piece.holders, shift);
    Cell cell{
        .tensor = piece.tensor, .box = piece.box, .before = {piece.holders.begin(), first_after}, .after = {}};
    for (auto holder = first_after; holder != piece.holders.end(); ++holder)
        cell.after.push_back(*holder - shift);
    return cell;
}

}  // namespace

std::vector<Cell> cells_of(const std::vector<layout::HeldTensor>& before,
                           const std::vector<layout::HeldTensor>& after) {
    const int shift = number_of_ranks(before);
    const ByName known = by_name(before);
    std::vector<layout::HeldTensor> both;
    for (const layout::HeldTensor& tensor : after) {
        const auto at = known.find(tensor.name);
        both.push_back(joined(at == known.end() ? nullptr : at->second, tensor, shift));
    }
    std::vector<Cell> cells;
    for (layout::Piece& piece : cut_in_pieces(both)) {
        Cell cell = cell_of(std::move(piece), shift);
        if (cell.after.empty()) continue;
        if (cell.before.empty()) {
            throw BugError(cat("rank ", cell.after.front(), " is to hold rows from ", cell.box.rows.begin,
                               " of ", after[cell.tensor].name, ", and no rank has them"));
        }
        cells.push_back(std::move(cell));
    }
    return cells;
}

std::vector<layout::Box> cut_small(const layout::Box& box, std::size_t most) {
    const std::size_t columns = std::min(box.columns.count, most);
    const std::size_t rows = columns < box.columns.count ? 1 : most / columns;
    std::vector<layout::Box> parts;
    for (std::size_t r = 0; r < box.rows.count; r += rows) {
        for (std::size_t c = 0; c < box.columns.count; c += columns) {
            parts.push_back({{box.rows.begin + r, std::min(rows, box.rows.count - r)},
                             {box.columns.begin + c, std::min(columns, box.columns.count - c)}});
        }
    }
    return parts;
}

std::vector<int> Cell::missing() const {
    std::vector<int> ranks;
    std::ranges::set_difference(after, before, std::back_inserter(ranks));
    return ranks;
}

std::vector<int> Cell::keepers() const {
    std::vector<int> ranks;
    std::ranges::set_intersection(after, before, std::back_inserter(ranks));
    return ranks;
}

bool Sources::are_near(int a, int b) const {
    return nodes_.empty() || nodes_.at(static_cast<std::size_t>(a)) == nodes_.at(static_cast<std::size_t>(b));
}

int Sources::choose(const std::vector<int>& holders, int destination, std::size_t elements) {
    const int best = *std::ranges::min_element(
        holders, {}, [&](int rank) { return std::tuple(!are_near(rank, destination), sent_[rank], rank); });
    sent_[best] += elements;
    return best;
}

}  // namespace trireme::mover
