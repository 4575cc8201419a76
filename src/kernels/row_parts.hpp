// Splits the update of a tensor with gaps between its rows into contiguous parts.
#pragma once

#include "trireme/kernels/update.hpp"

namespace trireme::kernels {

// Number of contiguous parts of a tensor: 1, or its number of rows.
inline std::size_t parts_of(const device::ConstTensor& tensor) {
    return tensor.is_contiguous() ? 1 : tensor.rows;
}

// Returns part `number` of a tensor that is divided into one part or into one part per row.
template <class View>
View part_of(const View& view, std::size_t parts, std::size_t number) {
    return parts == 1 || !view.is_present() ? view : view.row_range(number, 1);
}

// Number of parts that weight decay requires: an update whose columns differ in decay is split by row.
template <class Op>
std::size_t parts_by_columns(const Op& op) {
    return op.decaying.is_present() ? op.parameter.rows : 1;
}

// Calls use(factor), where factor(i) is `decay` if the column of element i has weight decay, else `none`.
template <class T, class Use>
void with_decay(const device::ConstTensor& decaying, T decay, T none, Use&& use) {
    if (!decaying.is_present()) return use([decay](std::size_t) { return decay; });
    use([=, decays = decaying.as<std::int32_t>().data](std::size_t i) {
        return decays[i] != 0 ? decay : none;
    });
}

// Calls use(round), where round(i, value) stores `value` as element i of `rounded`; a no-op if it is absent.
template <class Use>
void with_rounding(const device::Tensor& rounded, Use&& use) {
    if (!rounded.is_present()) return use([](std::size_t, auto) {});
    use([to = rounded.flattened().as<device::Bf16>().data](std::size_t i, auto value) {
        to[i] = static_cast<float>(value);
    });
}

// Calls use(part) with the whole update or, if a tensor has gaps or `decaying` is present, with one row at a
// time.
template <class Use>
void for_each_part(const AdamWUpdate& op, Use&& use) {
    const std::size_t parts = std::max({parts_of(op.parameter), parts_of(op.gradient), parts_of(op.moment1),
                                        parts_of(op.moment2), parts_of(op.rounded), parts_by_columns(op)});
    for (std::size_t r = 0; r < parts; ++r) {
        AdamWUpdate part = op;
        part.parameter = part_of(op.parameter, parts, r);
        part.gradient = part_of(op.gradient, parts, r);
        part.moment1 = part_of(op.moment1, parts, r);
        part.moment2 = part_of(op.moment2, parts, r);
        part.rounded = part_of(op.rounded, parts, r);
        use(part);
    }
}

template <class Use>
void for_each_part(const SgdUpdate& op, Use&& use) {
    const std::size_t parts = std::max({parts_of(op.parameter), parts_of(op.gradient), parts_of(op.velocity),
                                        parts_of(op.rounded), parts_by_columns(op)});
    for (std::size_t r = 0; r < parts; ++r) {
        SgdUpdate part = op;
        part.parameter = part_of(op.parameter, parts, r);
        part.gradient = part_of(op.gradient, parts, r);
        part.velocity = part_of(op.velocity, parts, r);
        part.rounded = part_of(op.rounded, parts, r);
        use(part);
    }
}

}  // namespace trireme::kernels
