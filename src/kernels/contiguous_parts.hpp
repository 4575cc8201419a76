// Splits the update of a tensor that has gaps between its rows into updates of contiguous memory, one per row.
#pragma once

#include "trireme/kernels/update.hpp"

namespace trireme::kernels {

// Returns the number of contiguous parts of a tensor: 1, or the number of rows if the rows have gaps between
// them.
inline std::size_t count_contiguous_parts(const device::ConstTensor& tensor) {
    return tensor.is_contiguous() ? 1 : tensor.rows;
}

// Returns part `index` of a tensor that is divided into `parts` parts: the complete tensor if `parts` is 1,
// else row `index`. An absent tensor is returned as it is.
template <class View>
View get_part(const View& view, std::size_t parts, std::size_t index) {
    return parts == 1 || !view.is_present() ? view : view.row_range(index, 1);
}

// Returns the number of parts that weight decay requires: an update with a decay mask is split into its rows,
// because the mask is indexed by column.
template <class Op>
std::size_t count_decay_parts(const Op& op) {
    return op.decay_mask.is_present() ? op.parameter.rows : 1;
}

// Calls use(factor), where factor(i) is `decay` if the column of element i has weight decay, else `no_decay`.
// With a decay mask, the elements are those of one row, so element i is in column i.
template <class T, class Use>
void with_decay(const device::ConstTensor& decay_mask, T decay, T no_decay, Use&& use) {
    if (!decay_mask.is_present()) return use([decay](std::size_t) { return decay; });
    use([=, mask = decay_mask.as<std::int32_t>().data](std::size_t i) {
        return mask[i] != 0 ? decay : no_decay;
    });
}

// Calls use(round), where round(i, value) stores `value` as element i of `rounded_parameter`, or does nothing
// if that tensor is absent.
template <class Use>
void with_rounding(const device::Tensor& rounded_parameter, Use&& use) {
    if (!rounded_parameter.is_present()) return use([](std::size_t, auto) {});
    use([to = rounded_parameter.flattened().as<device::Bf16>().data](std::size_t i, auto value) {
        to[i] = static_cast<float>(value);
    });
}

// Calls use(part) for each contiguous part of the update. Each row is a part if a tensor has gaps between its
// rows or a decay mask is present. Otherwise the only part is the complete update.
template <class Use>
void for_each_contiguous_part(const AdamWUpdate& op, Use&& use) {
    const std::size_t parts =
        std::max({count_contiguous_parts(op.parameter), count_contiguous_parts(op.gradient),
                  count_contiguous_parts(op.moment1), count_contiguous_parts(op.moment2),
                  count_contiguous_parts(op.rounded_parameter), count_decay_parts(op)});
    for (std::size_t r = 0; r < parts; ++r) {
        AdamWUpdate part = op;
        part.parameter = get_part(op.parameter, parts, r);
        part.gradient = get_part(op.gradient, parts, r);
        part.moment1 = get_part(op.moment1, parts, r);
        part.moment2 = get_part(op.moment2, parts, r);
        part.rounded_parameter = get_part(op.rounded_parameter, parts, r);
        use(part);
    }
}

template <class Use>
void for_each_contiguous_part(const SgdUpdate& op, Use&& use) {
    const std::size_t parts =
        std::max({count_contiguous_parts(op.parameter), count_contiguous_parts(op.gradient),
                  count_contiguous_parts(op.velocity), count_contiguous_parts(op.rounded_parameter),
                  count_decay_parts(op)});
    for (std::size_t r = 0; r < parts; ++r) {
        SgdUpdate part = op;
        part.parameter = get_part(op.parameter, parts, r);
        part.gradient = get_part(op.gradient, parts, r);
        part.velocity = get_part(op.velocity, parts, r);
        part.rounded_parameter = get_part(op.rounded_parameter, parts, r);
        use(part);
    }
}

}  // namespace trireme::kernels
