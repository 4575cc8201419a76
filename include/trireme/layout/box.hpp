// Rectangles of tensors. All tensors are matrices; a vector is a matrix with one row.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::layout {

// The half-open interval [begin, end()).
struct Range {
    std::size_t begin = 0;
    std::size_t count = 0;

    std::size_t end() const { return begin + count; }
    friend bool operator==(const Range&, const Range&) = default;
};

Range intersect(Range a, Range b);  // the result has count 0 if the ranges are disjoint

struct Box {
    Range rows;
    Range columns;

    std::size_t size() const { return rows.count * columns.count; }
    bool is_empty() const { return size() == 0; }
    friend bool operator==(const Box&, const Box&) = default;
};

Box intersect(const Box& a, const Box& b);

// The position of a box of a global tensor in the matrix that a rank stores: the global element (box.rows.begin
// + i, box.columns.begin + j) is the element (row + i, column + j) of that matrix.
struct Placement {
    Box box;
    std::size_t row = 0;
    std::size_t column = 0;

    friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace trireme::layout
