#include "trireme/layout/box.hpp"

#include <algorithm>

namespace trireme::layout {

Range intersect(Range a, Range b) {
    const std::size_t begin = std::max(a.begin, b.begin);
    const std::size_t end = std::min(a.end(), b.end());
    return {begin, end > begin ? end - begin : 0};
}

Box intersect(const Box& a, const Box& b) {
    return {intersect(a.rows, b.rows), intersect(a.columns, b.columns)};
}

}  // namespace trireme::layout
