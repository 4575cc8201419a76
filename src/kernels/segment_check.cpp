#include "kernels/segment_check.hpp"

#include <algorithm>
#include <vector>

namespace trireme {

void check_segments(const ShapeCheck& check, std::span<const Segment> segments, std::size_t rows) {
    std::vector<Segment> sorted(segments.begin(), segments.end());
    std::sort(sorted.begin(), sorted.end(),
              [](const Segment& a, const Segment& b) { return a.begin < b.begin; });
    std::size_t end = 0;  // of the segments so far
    for (const Segment& segment : sorted) {
        check.demand(segment.begin <= rows && segment.length <= rows - segment.begin, "a segment of ",
                     segment.length, " rows from row ", segment.begin, " does not fit into ", rows, " rows");
        check.demand(segment.begin >= end || segment.length == 0, "the segment from row ", segment.begin,
                     " begins before the last one ends at row ", end);
        end = std::max(end, segment.begin + segment.length);
    }
}

}  // namespace trireme
