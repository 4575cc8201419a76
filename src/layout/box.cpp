#include "trireme/layout/box.hpp"

#include <algorithm>

namespace trireme::layout {

Range intersection(Range a, Range b) {
    const std::size_t begin = std::max(a.begin, b.begin);
    const std::size_t end = std::min(a.end(), b.end());
    return {begin, end > begin ? end - begin : 0};
}

Box intersection(const Box& a, const Box& b) {
    return {intersection(a.rows, b.rows), intersection(a.columns, b.columns)};
}

}  // namespace trireme::layout
