// What scatters do with the rows, or the columns, that no index names.
#pragma once

#include <vector>

#include "kernels/shape_check.hpp"
#include "trireme/kernels/rows.hpp"

namespace trireme::kernels {

// The numbers below `end` that are not among `names`, (count) i32, ascending.
std::vector<std::size_t> unnamed_of(const device::ConstTensor& names, std::size_t end);

// A mean is of something.
void check_mean(const ShapeCheck& check, Unnamed unnamed, std::size_t named, std::size_t all);

// True if a scatter writes what no index names, too. Zeros that are added change nothing.
bool writes_unnamed(Unnamed unnamed, bool accumulate);

// Read and written by a scatter of `input` into `output`, without its indices.
std::size_t scattered_bytes(const device::ConstTensor& input, const device::ConstTensor& output,
                            Unnamed unnamed, bool accumulate);

// Calls write(element, value) so that it sets an element of the output, or adds to it.
template <class Use>
void with_write(bool accumulate, Use&& use) {
    if (accumulate) {
        use([](auto& element, auto value) { element += value; });
    } else {
        use([](auto& element, auto value) { element = value; });
    }
}

}  // namespace trireme::kernels
