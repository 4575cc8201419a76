#include "trireme/kernels/rotary.hpp"

#include "kernels/shape_check.hpp"

namespace trireme {

void Rotary::check() const {
    const ShapeCheck check("rotary", values.dtype);
    check.matrix("values", values, values.rows, values.columns);
    check.vector_of(DType::i32, "positions", positions, values.rows);
    const std::size_t head_size = 2 * frequencies.size();
    check.demand(head_size > 0, "there are no frequencies, one for each pair of channels of a head");
    check.demand(values.columns % head_size == 0, values.columns,
                 " columns of values cannot be cut into heads of ", head_size, ", twice the ",
                 frequencies.size(), " frequencies");
    for (std::size_t c = 0; c < frequencies.size(); ++c) {
        check.demand(frequencies[c] >= 0 && frequencies[c] <= 1, "frequencies[", c, "] is ", frequencies[c],
                     ", not within 0 .. 1 radians a position");
    }
}

Cost Rotary::cost() const {
    const std::size_t bytes = 2 * values.bytes() + positions.bytes() + frequencies.size_bytes();
    return {.kernel = "rotary", .bytes = static_cast<double>(bytes)};
}

NamedTensors Rotary::tensors() const { return {{"values", values}, {"positions", positions}}; }

}  // namespace trireme
