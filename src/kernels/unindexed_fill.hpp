// Helpers of the scatter kernels for the output rows or columns without an index.
#pragma once

#include <vector>

#include "kernels/shape_check.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme::kernels {

// Returns the rows or columns below `end` that are not in `indices`, a vector of i32, in ascending order.
std::vector<std::size_t> list_unindexed(const device::ConstTensor& indices, std::size_t end);

// Checks a scatter of `indexed_count` input rows or columns into an output of `total_count` rows or columns.
// Throws BugError if `unindexed_fill` is the mean, the output is not empty, and there are no input rows or
// columns to average.
void check_mean_exists(const ShapeCheck& check, UnindexedFill unindexed_fill, std::size_t indexed_count,
                       std::size_t total_count);

// Returns true if a scatter also writes the rows or columns without an index. Adding zeros needs no write.
bool writes_unindexed(UnindexedFill unindexed_fill, bool accumulate);

// Returns the bytes that a scatter of `input` into `output` reads and writes, without the bytes of the indices.
std::size_t count_scattered_bytes(const device::ConstTensor& input, const device::ConstTensor& output,
                                  UnindexedFill unindexed_fill, bool accumulate);

// Calls use(write), where write(element, value) stores the value or, if `accumulate`, adds it.
template <class Use>
void with_write(bool accumulate, Use&& use) {
    if (accumulate) {
        use([](auto& element, auto value) { element += value; });
    } else {
        use([](auto& element, auto value) { element = value; });
    }
}

}  // namespace trireme::kernels
