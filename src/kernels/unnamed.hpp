// Helpers of the scatter kernels for the rows or columns that no index names.
#pragma once

#include <vector>

#include "kernels/shape_check.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme::kernels {

// Returns the numbers below `end` that do not occur in `names`, (count) i32, in ascending order.
std::vector<std::size_t> unnamed_of(const device::ConstTensor& names, std::size_t end);

// Throws BugError if a mean of zero rows or columns is required. `named` of `all` have an index.
void check_mean(const ShapeCheck& check, Unnamed unnamed, std::size_t named, std::size_t all);

// Returns true if a scatter also writes the rows or columns without index. Adding zeros needs no write.
bool writes_unnamed(Unnamed unnamed, bool accumulate);

// Returns the bytes that a scatter of `input` into `output` reads and writes, without its indices.
std::size_t scattered_bytes(const device::ConstTensor& input, const device::ConstTensor& output,
                            Unnamed unnamed, bool accumulate);

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
