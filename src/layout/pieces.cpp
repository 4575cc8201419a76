#include "trireme/layout/pieces.hpp"

#include <algorithm>
#include <tuple>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

// A box and all ranks that hold exactly this box. Thousands of slices reduce to a few of these.
struct SharedBox {
    Box box;
    std::vector<int> ranks;
};

std::vector<Slice> sorted_slices(const HeldTensor& tensor) {
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
std::vector<SharedBox> shared_boxes(const HeldTensor& tensor) {
    std::vector<SharedBox> boxes;
    for (const Slice& slice : sorted_slices(tensor)) {
        if (boxes.empty() || boxes.back().box != slice.box) boxes.push_back({slice.box, {}});
        boxes.back().ranks.push_back(slice.rank);
    }
    return boxes;
}

// Returns the bounds of all ranges, ascending and without duplicates.
template <class Boxes, class RangeOf>
std::vector<std::size_t> cut_lines(const Boxes& boxes, RangeOf range_of) {
    std::vector<std::size_t> lines;
    for (const auto& shared : boxes) {
        const Range range = range_of(shared);
        lines.push_back(range.begin);
        lines.push_back(range.end());
    }
    std::ranges::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

using Crossing = std::vector<const SharedBox*>;  // boxes that cross a strip of rows from top to bottom

// Returns the holders between each two adjacent column lines, ascending.
std::vector<std::vector<int>> holders_between(const std::vector<std::size_t>& lines, const Crossing& boxes) {
    std::vector<std::vector<int>> holders(lines.size());
    for (const SharedBox* shared : boxes) {
        const Range columns = shared->box.columns;
        const auto first = std::ranges::lower_bound(lines, columns.begin);
        for (auto line = first; *line < columns.end(); ++line) {
            auto& cell = holders[static_cast<std::size_t>(line - lines.begin())];
            cell.insert(cell.end(), shared->ranks.begin(), shared->ranks.end());
        }
    }
    for (auto& cell : holders) {
        std::ranges::sort(cell);
        cell.erase(std::unique(cell.begin(), cell.end()), cell.end());
    }
    return holders;
}

// Returns the pieces of a strip of rows in which no box begins or ends, with neighbours joined.
std::vector<Piece> pieces_of_strip(std::size_t tensor, Range rows, const Crossing& boxes) {
    const auto lines = cut_lines(boxes, [](const SharedBox* shared) { return shared->box.columns; });
    auto holders = holders_between(lines, boxes);
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

bool goes_on_in(const Piece& above, const Piece& below) {
    return above.box.columns == below.box.columns && above.box.rows.end() == below.box.rows.begin &&
           above.holders == below.holders;
}

// Adds the pieces of the next strip to `pieces`, or extends the pieces above that they continue. `above` has
// the indices of the previous strip's pieces, sorted by column; on return it has those of this strip.
void add_strip(std::vector<Piece>& pieces, std::vector<std::size_t>& above, std::vector<Piece> strip) {
    std::vector<std::size_t> lowest;
    auto candidate = above.begin();
    for (Piece& piece : strip) {
        const std::size_t column = piece.box.columns.begin;
        while (candidate != above.end() && pieces[*candidate].box.columns.begin < column) ++candidate;
        if (candidate != above.end() && goes_on_in(pieces[*candidate], piece)) {
            pieces[*candidate].box.rows.count += piece.box.rows.count;
            lowest.push_back(*candidate);
        } else {
            lowest.push_back(pieces.size());
            pieces.push_back(std::move(piece));
        }
    }
    above = std::move(lowest);
}

// Sweeps over the rows of a tensor, strip by strip.
void add_tensor(std::vector<Piece>& pieces, std::size_t number, const HeldTensor& tensor) {
    const std::vector<SharedBox> boxes = shared_boxes(tensor);
    const auto lines = cut_lines(boxes, [](const SharedBox& shared) { return shared.box.rows; });
    Crossing crossing;
    std::vector<std::size_t> above;
    auto next = boxes.begin();
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        std::erase_if(crossing, [&](const SharedBox* shared) { return shared->box.rows.end() <= lines[i]; });
        for (; next != boxes.end() && next->box.rows.begin == lines[i]; ++next) crossing.push_back(&*next);
        const Range rows{lines[i], lines[i + 1] - lines[i]};
        add_strip(pieces, above, pieces_of_strip(number, rows, crossing));
    }
}

}  // namespace

std::vector<Piece> cut_in_pieces(const std::vector<HeldTensor>& tensors) {
    std::vector<Piece> pieces;
    for (std::size_t t = 0; t < tensors.size(); ++t) add_tensor(pieces, t, tensors[t]);
    return pieces;
}

}  // namespace trireme::layout
