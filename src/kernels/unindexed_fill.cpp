#include "kernels/unindexed_fill.hpp"

namespace trireme::kernels {

std::vector<std::size_t> list_unindexed(const device::ConstTensor& indices, std::size_t end) {
    const auto elements = indices.as<std::int32_t>();
    std::vector<bool> is_indexed(end);
    for (std::size_t i = 0; i < elements.columns; ++i) is_indexed[static_cast<std::size_t>(elements[i])] = true;
    std::vector<std::size_t> unindexed;
    for (std::size_t i = 0; i < end; ++i) {
        if (!is_indexed[i]) unindexed.push_back(i);
    }
    return unindexed;
}

void check_mean_exists(const ShapeCheck& check, UnindexedFill unindexed_fill, std::size_t indexed_count,
                       std::size_t total_count) {
    check.demand(unindexed_fill != UnindexedFill::mean || indexed_count > 0 || total_count == 0, "none of ",
                 total_count, " rows or columns is indexed, so they cannot be filled with the mean");
}

bool writes_unindexed(UnindexedFill unindexed_fill, bool accumulate) {
    return unindexed_fill == UnindexedFill::mean || (unindexed_fill == UnindexedFill::zero && !accumulate);
}

std::size_t count_scattered_bytes(const device::ConstTensor& input, const device::ConstTensor& output,
                                  UnindexedFill unindexed_fill, bool accumulate) {
    const bool writes_all = writes_unindexed(unindexed_fill, accumulate);
    return input.bytes() + (accumulate ? 2 : 1) * (writes_all ? output.bytes() : input.bytes());
}

}  // namespace trireme::kernels
