#include "plan/interpolate.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trireme::plan {
namespace {

// Moves a point to the nearest point of the bounding box of all known points.
void clamp_to_bounding_box(std::span<const ScatteredValue> known_values, std::vector<double>& coordinates) {
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
        const auto get_coordinate = [axis](const ScatteredValue& each) { return (*each.coordinates)[axis]; };
        const auto [lowest, highest] = std::ranges::minmax(known_values, {}, get_coordinate);
        coordinates[axis] = std::clamp(coordinates[axis], get_coordinate(lowest), get_coordinate(highest));
    }
}

double compute_squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t axis = 0; axis < a.size(); ++axis) sum += std::pow(a[axis] - b[axis], 2);
    return sum;
}

// Normal equations of the fit of a plane, one row per unknown. The unknowns are the value of the plane at the
// interpolated point, then its slope along each axis. The last column is the right-hand side.
using Equations = std::vector<std::vector<double>>;

// Adds a known value to the equations for the interpolated point `coordinates`.
void add_known_value(Equations& equations, const ScatteredValue& known_value,
                     const std::vector<double>& coordinates, double weight) {
    std::vector<double> terms{1};  // 1, the offset of the known point along each axis, the known value
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis)
        terms.push_back((*known_value.coordinates)[axis] - coordinates[axis]);
    terms.push_back(known_value.value);
    for (std::size_t row = 0; row < equations.size(); ++row) {
        for (std::size_t column = 0; column < terms.size(); ++column)
            equations[row][column] += weight * terms[row] * terms[column];
    }
}

// Returns the first unknown: eliminates the other unknowns, from the last to the second (Gaussian elimination).
// The matrix is symmetric and positive definite, so no pivot is 0.
double solve_first_unknown(Equations equations) {
    for (std::size_t pivot = equations.size(); pivot-- > 0;) {
        for (std::size_t row = 0; row < pivot; ++row) {
            const double factor = equations[row][pivot] / equations[pivot][pivot];
            for (std::size_t column = 0; column < equations[row].size(); ++column)
                equations[row][column] -= factor * equations[pivot][column];
        }
    }
    return equations[0].back() / equations[0][0];
}

}  // namespace

double interpolate(std::span<const ScatteredValue> known_values, std::vector<double> coordinates) {
    constexpr double same_point_squared_distance = 1e-12;
    constexpr double slope_penalty = 1e-3;  // regularizes slopes that the values do not determine
    clamp_to_bounding_box(known_values, coordinates);
    Equations equations(coordinates.size() + 1, std::vector<double>(coordinates.size() + 2));
    double weight_sum = 0;
    double sum_at_point = 0;
    double count_at_point = 0;
    for (const ScatteredValue& each : known_values) {
        const double squared_distance = compute_squared_distance(*each.coordinates, coordinates);
        if (squared_distance < same_point_squared_distance) {
            sum_at_point += each.value;
            ++count_at_point;
            continue;
        }
        const double weight = 1 / (squared_distance * squared_distance);
        add_known_value(equations, each, coordinates, weight);
        weight_sum += weight;
    }
    if (count_at_point > 0) return sum_at_point / count_at_point;
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis)
        equations[axis + 1][axis + 1] += slope_penalty * weight_sum;
    const auto [lowest, highest] = std::ranges::minmax(known_values, {}, &ScatteredValue::value);
    return std::clamp(solve_first_unknown(std::move(equations)), lowest.value, highest.value);
}

}  // namespace trireme::plan
