// Interpolation between values at scattered points.
#pragma once

#include <span>
#include <vector>

namespace trireme::plan {

struct ScatteredValue {
    const std::vector<double>* coordinates;  // of the known point; not owned; equally long for all points
    double value = 0;
};

// Returns an interpolated value at the point `coordinates`: fits a plane to the known values, with larger
// weights for closer points (moving least squares; Lancaster and Salkauskas, 1981). At a known point, the
// result is the mean of all values known at this point. A coordinate that is equal for all known points does
// not affect the result. Outside the bounding box of the known points, the result is the value at the nearest
// point of the box. The result never leaves the range of the known values. `known_values` must not be empty.
double interpolate(std::span<const ScatteredValue> known_values, std::vector<double> coordinates);

}  // namespace trireme::plan
