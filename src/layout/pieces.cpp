#include "trireme/layout/pieces.hpp"

#include <algorithm>
#include <tuple>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

// A box and all ranks that have a slice with exactly this box. Thousands of slices have only a few distinct
// boxes.
struct SharedBox {
    Box box;
    std::vector<int> ranks;
};

std::vector<Slice> sort_slices(const HeldTensor& tensor) {
    std::vector<Slice> slices;
    for (const Slice& slice : tensor.slices) {
        const Box& box = slice.box;
        if (box.rows.end() > tensor.rows || box.columns.end() > tensor.columns) {
            throw BugError(cat("rank ", slice.rank, " holds rows up to ", box.rows.end(), " and columns up to ",
                               box.columns.end(), " of ", tensor.name, ", which is ", tensor.rows, " x ",
                               tensor.columns));
        }
        if (!box.is_empty()) slices.push_back(slice);
    }
    std::ranges::sort(slices, {}, [](const Slice& slice) {
        const auto& [rows, columns] = slice.box;
        return std::tuple(rows.begin, rows.count, columns.begin, columns.count, slice.rank);
    });
    return slices;
}

// Returns the distinct boxes, sorted by first row.
std::vector<SharedBox> find_shared_boxes(const HeldTensor& tensor) {
    std::vector<SharedBox> boxes;
    for (const Slice& slice : sort_slices(tensor)) {
        if (boxes.empty() || boxes.back().box != slice.box) boxes.push_back({slice.box, {}});
        boxes.back().ranks.push_back(slice.rank);
    }
    return boxes;
}

// Returns the begins and ends of the ranges of all boxes, ascending and without duplicates. `find_range`
// returns the rows or the columns of a box.
template <class Boxes, class FindRange>
std::vector<std::size_t> list_cut_lines(const Boxes& boxes, FindRange find_range) {
    std::vector<std::size_t> lines;
    for (const auto& shared_box : boxes) {
        const Range range = find_range(shared_box);
        lines.push_back(range.begin);
        lines.push_back(range.end());
    }
    std::ranges::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

using StripBoxes = std::vector<const SharedBox*>;  // boxes that cross a strip of rows from top to bottom

// Returns for every i the holders between the cut lines i and i + 1 of `lines`, which cut columns. Holders are
// ascending.
std::vector<std::vector<int>> find_holders_between(const std::vector<std::size_t>& lines,
                                                   const StripBoxes& boxes) {
    std::vector<std::vector<int>> holders(lines.size());
    for (const SharedBox* shared_box : boxes) {
        const Range columns = shared_box->box.columns;
        const auto first = std::ranges::lower_bound(lines, columns.begin);
        for (auto line = first; *line < columns.end(); ++line) {
            auto& cell = holders[static_cast<std::size_t>(line - lines.begin())];
            cell.insert(cell.end(), shared_box->ranks.begin(), shared_box->ranks.end());
        }
    }
    for (auto& cell : holders) {
        std::ranges::sort(cell);
        cell.erase(std::unique(cell.begin(), cell.end()), cell.end());
    }
    return holders;
}

// Returns the pieces of a strip, i.e. of rows between which no box begins or ends. Neighbours with equal
// holders are one piece.
std::vector<Piece> make_strip_pieces(std::size_t tensor, Range rows, const StripBoxes& boxes) {
    const auto lines =
        list_cut_lines(boxes, [](const SharedBox* shared_box) { return shared_box->box.columns; });
    auto holders = find_holders_between(lines, boxes);
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        if (holders[i].empty()) continue;
        const Range columns{lines[i], lines[i + 1] - lines[i]};
        if (!pieces.empty() && pieces.back().box.columns.end() == columns.begin &&
            pieces.back().holders == holders[i]) {
            pieces.back().box.columns.count += columns.count;
        } else {
            pieces.push_back({tensor, {rows, columns}, std::move(holders[i])});
        }
    }
    return pieces;
}

bool may_merge(const Piece& above, const Piece& below) {
    return above.box.columns == below.box.columns && above.box.rows.end() == below.box.rows.begin &&
           above.holders == below.holders;
}

// Adds the pieces of the next strip to `pieces`, or merges them with the pieces directly above. `above` has the
// indices of the pieces that reach the bottom of the previous strip, sorted by column; on return it has those
// of this strip.
void add_strip(std::vector<Piece>& pieces, std::vector<std::size_t>& above, std::vector<Piece> strip) {
    std::vector<std::size_t> lowest_pieces;
    auto candidate = above.begin();
    for (Piece& piece : strip) {
        const std::size_t column = piece.box.columns.begin;
        while (candidate != above.end() && pieces[*candidate].box.columns.begin < column) ++candidate;
        if (candidate != above.end() && may_merge(pieces[*candidate], piece)) {
            pieces[*candidate].box.rows.count += piece.box.rows.count;
            lowest_pieces.push_back(*candidate);
        } else {
            lowest_pieces.push_back(pieces.size());
            pieces.push_back(std::move(piece));
        }
    }
    above = std::move(lowest_pieces);
}

// Adds the pieces of a tensor, one strip of rows after the other.
void add_tensor(std::vector<Piece>& pieces, std::size_t tensor_index, const HeldTensor& tensor) {
    const std::vector<SharedBox> boxes = find_shared_boxes(tensor);
    const auto lines = list_cut_lines(boxes, [](const SharedBox& shared_box) { return shared_box.box.rows; });
    StripBoxes strip_boxes;
    std::vector<std::size_t> above;
    auto next = boxes.begin();
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        std::erase_if(strip_boxes,
                      [&](const SharedBox* shared_box) { return shared_box->box.rows.end() <= lines[i]; });
        for (; next != boxes.end() && next->box.rows.begin == lines[i]; ++next) strip_boxes.push_back(&*next);
        const Range rows{lines[i], lines[i + 1] - lines[i]};
        add_strip(pieces, above, make_strip_pieces(tensor_index, rows, strip_boxes));
    }
}

}  // namespace

std::vector<Piece> cut_in_pieces(const std::vector<HeldTensor>& tensors) {
    std::vector<Piece> pieces;
    for (std::size_t t = 0; t < tensors.size(); ++t) add_tensor(pieces, t, tensors[t]);
    return pieces;
}

}  // namespace trireme::layout
