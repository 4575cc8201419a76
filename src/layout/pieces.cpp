#include "trireme/layout/pieces.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::layout {
namespace {

// A box and the ranks that have a slice with exactly this box, ascending. Thousands of slices have only a few
// distinct boxes.
struct SharedBox {
    Box box;
    std::vector<int> ranks;
};

// Returns the slices that are not empty, sorted by rows, then columns, then rank. Throws BugError if a slice
// exceeds the tensor.
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

// Returns the distinct boxes of the tensor's slices, sorted by first row.
std::vector<SharedBox> find_shared_boxes(const HeldTensor& tensor) {
    std::vector<SharedBox> boxes;
    for (const Slice& slice : sort_slices(tensor)) {
        if (boxes.empty() || boxes.back().box != slice.box) boxes.push_back({slice.box, {}});
        boxes.back().ranks.push_back(slice.rank);
    }
    return boxes;
}

// Returns the begins and ends of the ranges of all boxes, ascending and without duplicates. `select_range`
// returns the rows or the columns of a box.
template <class Boxes, class SelectRange>
std::vector<std::size_t> list_cut_lines(const Boxes& boxes, SelectRange select_range) {
    std::vector<std::size_t> lines;
    for (const auto& shared_box : boxes) {
        const Range range = select_range(shared_box);
        lines.push_back(range.begin);
        lines.push_back(range.end());
    }
    std::ranges::sort(lines);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    return lines;
}

// All boxes that contain rows of a strip. A strip is a range of rows within which no box begins or ends, so
// each of these boxes contains all rows of the strip.
using StripBoxes = std::vector<const SharedBox*>;

// Returns the ranks of all boxes, ascending.
std::vector<int> merge_ranks(const StripBoxes& boxes) {
    std::vector<int> ranks;
    for (const SharedBox* shared_box : boxes)
        ranks.insert(ranks.end(), shared_box->ranks.begin(), shared_box->ranks.end());
    std::ranges::sort(ranks);
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    return ranks;
}

// Returns the holders of each interval of columns in a strip. `lines` has the cut lines between columns.
// Element i of the result has the ranks that hold columns lines[i] to lines[i + 1] - 1, ascending; the last
// element is empty.
std::vector<std::vector<int>> find_holders_between(const std::vector<std::size_t>& lines,
                                                   const StripBoxes& boxes) {
    std::vector<StripBoxes> boxes_between(lines.size());
    for (const SharedBox* shared_box : boxes) {
        const Range columns = shared_box->box.columns;
        const auto first = std::ranges::lower_bound(lines, columns.begin);
        for (auto line = first; *line < columns.end(); ++line)
            boxes_between[static_cast<std::size_t>(line - lines.begin())].push_back(shared_box);
    }
    std::vector<std::vector<int>> holders;
    for (const StripBoxes& each : boxes_between) holders.push_back(merge_ranks(each));
    return holders;
}

// Returns the pieces of the strip `rows`, sorted by column. Adjacent columns with equal holders form one piece.
std::vector<Piece> make_strip_pieces(std::size_t tensor_index, Range rows, const StripBoxes& boxes) {
    const auto has_other_columns = [&](const SharedBox* each) {
        return each->box.columns != boxes.front()->box.columns;
    };
    if (!boxes.empty() && std::ranges::none_of(boxes, has_other_columns))
        return {{tensor_index, {rows, boxes.front()->box.columns}, merge_ranks(boxes)}};
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
            pieces.push_back({tensor_index, {rows, columns}, std::move(holders[i])});
        }
    }
    return pieces;
}

bool may_merge(const Piece& above, const Piece& below) {
    return above.box.columns == below.box.columns && above.box.rows.end() == below.box.rows.begin &&
           above.holders == below.holders;
}

// Adds the pieces of the next strip to `pieces`, or merges them with the pieces directly above. `lowest_pieces`
// has the indices of the pieces that reach the last row of the previous strip, sorted by column. On return
// `lowest_pieces` has the indices of the pieces that reach the last row of the added strip.
void add_strip(std::vector<Piece>& pieces, std::vector<std::size_t>& lowest_pieces,
               std::vector<Piece> strip_pieces) {
    std::vector<std::size_t> new_lowest_pieces;
    auto candidate = lowest_pieces.begin();
    for (Piece& piece : strip_pieces) {
        const std::size_t column = piece.box.columns.begin;
        while (candidate != lowest_pieces.end() && pieces[*candidate].box.columns.begin < column) ++candidate;
        if (candidate != lowest_pieces.end() && may_merge(pieces[*candidate], piece)) {
            pieces[*candidate].box.rows.count += piece.box.rows.count;
            new_lowest_pieces.push_back(*candidate);
        } else {
            new_lowest_pieces.push_back(pieces.size());
            pieces.push_back(std::move(piece));
        }
    }
    lowest_pieces = std::move(new_lowest_pieces);
}

// Adds the pieces of a tensor to `pieces`, strip by strip from the first row to the last.
void add_tensor(std::vector<Piece>& pieces, std::size_t tensor_index, const HeldTensor& tensor) {
    if (is_whole_on_each_rank(tensor)) {
        pieces.push_back({tensor_index, tensor.slices.front().box, list_ranks(tensor.slices)});
        return;
    }
    const std::vector<SharedBox> boxes = find_shared_boxes(tensor);
    const auto lines = list_cut_lines(boxes, [](const SharedBox& shared_box) { return shared_box.box.rows; });
    StripBoxes strip_boxes;
    std::vector<std::size_t> lowest_pieces;
    auto next_box = boxes.begin();
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
        std::erase_if(strip_boxes,
                      [&](const SharedBox* shared_box) { return shared_box->box.rows.end() <= lines[i]; });
        for (; next_box != boxes.end() && next_box->box.rows.begin == lines[i]; ++next_box)
            strip_boxes.push_back(&*next_box);
        const Range rows{lines[i], lines[i + 1] - lines[i]};
        add_strip(pieces, lowest_pieces, make_strip_pieces(tensor_index, rows, strip_boxes));
    }
}

}  // namespace

bool is_whole_on_each_rank(const HeldTensor& tensor) {
    const Box whole{{0, tensor.rows}, {0, tensor.columns}};
    int last_rank = -1;
    return !tensor.slices.empty() && !whole.is_empty() &&
           std::ranges::all_of(tensor.slices, [&](const Slice& slice) {
               return slice.box == whole && slice.rank > std::exchange(last_rank, slice.rank);
           });
}

std::vector<int> list_ranks(const std::vector<Slice>& slices) {
    std::vector<int> ranks(slices.size());
    std::ranges::transform(slices, ranks.begin(), &Slice::rank);
    return ranks;
}

std::vector<Piece> cut_in_pieces(const std::vector<HeldTensor>& tensors) {
    std::vector<Piece> pieces;
    for (std::size_t t = 0; t < tensors.size(); ++t) add_tensor(pieces, t, tensors[t]);
    return pieces;
}

}  // namespace trireme::layout
