#include "plan/scattered.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trireme::plan {
namespace {

// Moves `place` into the bounding box of all known places.
void clamp_to(std::span<const ScatteredValue> known, std::vector<double>& place) {
    for (std::size_t axis = 0; axis < place.size(); ++axis) {
        const auto at = [axis](const ScatteredValue& each) { return (*each.place)[axis]; };
        const auto [least, most] = std::ranges::minmax(known, {}, at);
        place[axis] = std::clamp(place[axis], at(least), at(most));
    }
}

double squared_distance(const std::vector<double>& a, const std::vector<double>& b) {
    double sum = 0;
    for (std::size_t axis = 0; axis < a.size(); ++axis) sum += std::pow(a[axis] - b[axis], 2);
    return sum;
}

// Normal equations for the value at the place and the slopes along the axes. The last column is the right-hand
// side.
using Equations = std::vector<std::vector<double>>;

void add_value(Equations& equations, const ScatteredValue& known, const std::vector<double>& place,
               double weight) {
    std::vector<double> terms{1};
    for (std::size_t axis = 0; axis < place.size(); ++axis) terms.push_back((*known.place)[axis] - place[axis]);
    terms.push_back(known.value);
    for (std::size_t row = 0; row < equations.size(); ++row) {
        for (std::size_t column = 0; column < terms.size(); ++column)
            equations[row][column] += weight * terms[row] * terms[column];
    }
}

// Solves for the first unknown by Gauss-Jordan elimination. The equations are symmetric and positive definite,
// so that any pivot works.
double first_unknown(Equations equations) {
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

double interpolated(std::span<const ScatteredValue> known, std::vector<double> place) {
    constexpr double same = 1e-12;     // squared distance
    constexpr double flatness = 1e-3;  // regularizes slopes that the values do not determine
    clamp_to(known, place);
    Equations equations(place.size() + 1, std::vector<double>(place.size() + 2));
    double weights = 0;
    double sum_here = 0;
    double count_here = 0;
    for (const ScatteredValue& each : known) {
        const double distance = squared_distance(*each.place, place);
        if (distance < same) {
            sum_here += each.value;
            ++count_here;
            continue;
        }
        const double weight = 1 / (distance * distance);
        add_value(equations, each, place, weight);
        weights += weight;
    }
    if (count_here > 0) return sum_here / count_here;
    for (std::size_t axis = 0; axis < place.size(); ++axis) equations[axis + 1][axis + 1] += flatness * weights;
    const auto [least, most] = std::ranges::minmax(known, {}, &ScatteredValue::value);
    return std::clamp(first_unknown(std::move(equations)), least.value, most.value);
}

}  // namespace trireme::plan
