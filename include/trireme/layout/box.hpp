// Parts of tensors. Every tensor is seen as a matrix here, as the kernels see it.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::layout {

// The numbers begin, begin + 1, ..., end() - 1.
struct Range {
    std::size_t begin = 0;
    std::size_t count = 0;

    std::size_t end() const { return begin + count; }
    friend bool operator==(const Range&, const Range&) = default;
};

Range intersection(Range a, Range b);  // of count 0 where they share nothing

struct Box {
    Range rows;
    Range columns;

    std::size_t size() const { return rows.count * columns.count; }
    bool is_empty() const { return size() == 0; }
    friend bool operator==(const Box&, const Box&) = default;
};

Box intersection(const Box& a, const Box& b);

// Where a box of a global tensor lies in the memory of a rank, whose part of the tensor is a matrix too:
// element (box.rows.begin + i, box.columns.begin + j) is element (row + i, column + j) there.
struct Placement {
    Box box;
    std::size_t row = 0;
    std::size_t column = 0;

    friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace trireme::layout
