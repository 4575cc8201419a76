// Fits costs as linear functions of the counts of a micro-batch.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "trireme/plan/stage_work.hpp"

namespace trireme::setup {

// Finds a quantity as a linear function of the counts of a shape. The function is determined by the values of
// the quantity for several shapes, the probes.
class LinearFit {
    using Counts = std::array<long double, plan::LinearQuantity::terms>;

public:
    // n probes determine the first n terms of LinearQuantity::factors; the other factors are 0. The two probes
    // of images thus determine the constant term and the factor of the number of samples.
    explicit LinearFit(const std::vector<plan::MicrobatchShape>& probes);

    // `find_value(p)` returns the value of the quantity for probe number p, from 0. Factors are rounded to
    // multiples of 1 / 64, so that rounding errors do not make equal functions differ.
    template <class FindValue>
    plan::LinearQuantity find_quantity(FindValue&& find_value) const {
        constexpr long double resolution = 64;
        plan::LinearQuantity quantity;
        Counts values{};
        for (std::size_t p = 0; p < size_; ++p) values[p] = static_cast<long double>(find_value(p));
        if (values == Counts{}) return quantity;
        for (std::size_t term = 0; term < size_; ++term) {
            long double factor = 0;
            for (std::size_t p = 0; p < size_; ++p) factor += inverse_[term][p] * values[p];
            quantity.factors[term] = static_cast<double>(std::round(factor * resolution) / resolution);
        }
        return quantity;
    }

private:
    static Counts list_counts(const plan::MicrobatchShape& shape);
    void invert();
    void scale_row(std::size_t row, long double factor);
    void add_row(std::size_t source, std::size_t destination, long double factor);

    std::size_t size_;
    std::array<Counts, plan::LinearQuantity::terms> matrix_{};   // [probe][term]
    std::array<Counts, plan::LinearQuantity::terms> inverse_{};  // [term][probe]
};

}  // namespace trireme::setup
