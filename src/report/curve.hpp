// Points in the order of x, made fit to be drawn.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme::report {

struct Point {
    double x = 0;
    double y = 0;
    friend bool operator==(const Point&, const Point&) = default;
};
using Curve = std::vector<Point>;

// At most `most` (>= 2) points. Of each of most / 2 equal stretches the lowest and the highest stay, so that no
// spike is lost.
Curve thinned(const Curve& curve, std::size_t most);

// At most `most` (>= 2) points, evenly picked. Each lies on the line that fits its neighbours best, `reach` on
// either side where there are as many: in the middle that is their mean, and the ends neither lag nor jump.
Curve smoothed(const Curve& curve, std::size_t reach, std::size_t most);

}  // namespace trireme::report
