// The check of operations that work on segments of rows.
#pragma once

#include <span>

#include "kernels/shape_check.hpp"
#include "trireme/kernels/attention.hpp"

namespace trireme {

// Throws unless the segments lie within `rows` rows and do not overlap.
void check_segments(const ShapeCheck& check, std::span<const Segment> segments, std::size_t rows);

}  // namespace trireme
