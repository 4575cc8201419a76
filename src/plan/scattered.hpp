// Interpolation between values at scattered places.
#pragma once

#include <span>
#include <vector>

namespace trireme::plan {

struct ScatteredValue {
    const std::vector<double>* place;  // coordinates; equally many for all values
    double value = 0;
};

// Fits a plane to the known values, with larger weights for closer ones, and returns its value at `place`. The
// result passes through each known value, and through the mean of those at one place (moving least squares;
// Lancaster and Salkauskas, 1981). It is constant along an axis on which the known places do not differ.
// Outside their bounding box it is the value at the nearest point of the box, and it never leaves the range of
// the known values. `known` must not be empty.
double interpolated(std::span<const ScatteredValue> known, std::vector<double> place);

}  // namespace trireme::plan
