#include "setup/costs/linear_fit.hpp"

#include <algorithm>

namespace trireme::setup {

LinearFit::LinearFit(const std::vector<plan::MicrobatchShape>& probes) : size_(probes.size()) {
    for (std::size_t row = 0; row < size_; ++row) {
        const Counts counts = list_counts(probes[row]);
        std::copy_n(counts.begin(), size_, matrix_[row].begin());
        inverse_[row][row] = 1;
    }
    invert();
}

// Returns the counts of a shape, in the order of LinearQuantity::factors.
LinearFit::Counts LinearFit::list_counts(const plan::MicrobatchShape& shape) {
    Counts counts{1};
    const std::array values{shape.samples, shape.rows, shape.tokens, shape.square_length_sum,
                            shape.predicted_rows};
    std::ranges::transform(values, counts.begin() + 1,
                           [](std::size_t value) { return static_cast<long double>(value); });
    return counts;
}

// Gauss-Jordan elimination with row exchanges.
void LinearFit::invert() {
    for (std::size_t column = 0; column < size_; ++column) {
        std::size_t pivot = column;
        for (std::size_t row = column; row < size_; ++row)
            if (std::abs(matrix_[row][column]) > std::abs(matrix_[pivot][column])) pivot = row;
        std::swap(matrix_[column], matrix_[pivot]);
        std::swap(inverse_[column], inverse_[pivot]);
        scale_row(column, 1 / matrix_[column][column]);
        for (std::size_t row = 0; row < size_; ++row)
            if (row != column) add_row(column, row, -matrix_[row][column]);
    }
}

void LinearFit::scale_row(std::size_t row, long double factor) {
    for (long double& value : matrix_[row]) value *= factor;
    for (long double& value : inverse_[row]) value *= factor;
}

void LinearFit::add_row(std::size_t source, std::size_t destination, long double factor) {
    for (std::size_t column = 0; column < size_; ++column) {
        matrix_[destination][column] += factor * matrix_[source][column];
        inverse_[destination][column] += factor * inverse_[source][column];
    }
}

}  // namespace trireme::setup
