// Rectangles of tensors. Every tensor is a matrix here, as in the kernels.
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

Range intersection(Range a, Range b);  // has count 0 if the ranges are disjoint

struct Box {
    Range rows;
    Range columns;

    std::size_t size() const { return rows.count * columns.count; }
    bool is_empty() const { return size() == 0; }
    friend bool operator==(const Box&, const Box&) = default;
};

Box intersection(const Box& a, const Box& b);

// Position of a box of a global tensor in a rank's local matrix: global element (box.rows.begin + i,
// box.columns.begin + j) is local element (row + i, column + j).
struct Placement {
    Box box;
    std::size_t row = 0;
    std::size_t column = 0;

    friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace trireme::layout
