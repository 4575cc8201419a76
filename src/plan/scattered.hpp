// A value between places where it is known, which may lie anyhow.
#pragma once

#include <span>
#include <vector>

namespace trireme::plan {

struct ScatteredValue {
    const std::vector<double>* place;  // all of one length
    double value = 0;
};

// The plane that is fitted to the known values, near ones first: it passes through each of them, and
// through the mean of those at one place (moving least squares; Lancaster and Salkauskas, 1981). Along an axis
// on which they do not differ the value does not change. Beyond the known places it is that of the nearest
// point between them, and nowhere is it beyond the known values. There must be some.
double interpolated(std::span<const ScatteredValue> known, std::vector<double> place);

}  // namespace trireme::plan
