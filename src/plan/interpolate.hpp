// Interpolation between values at scattered points.
#pragma once

#include <span>
#include <vector>

namespace trireme::plan {

struct ScatteredValue {
    const std::vector<double>* coordinates;  // of the point, not owned; all points have the same dimension
    double value = 0;
};

// Returns an interpolated value at the point `coordinates`: fits a plane to the known values, with larger
// weights for closer points (moving least squares; Lancaster and Salkauskas, 1981). At a known point the result
// is the mean of the values known there. An axis along which all known points are equal does not affect the
// result. Outside the bounding box of the known points, the result is that at the nearest point of the box. The
// result never leaves the range of the known values. `known_values` must not be empty.
double interpolate(std::span<const ScatteredValue> known_values, std::vector<double> coordinates);

}  // namespace trireme::plan
