#include "kernels/unnamed.hpp"

namespace trireme::kernels {

std::vector<std::size_t> unnamed_of(const device::ConstTensor& names, std::size_t end) {
    const auto elements = names.as<std::int32_t>();
    std::vector<bool> is_named(end);
    for (std::size_t i = 0; i < elements.columns; ++i) is_named[static_cast<std::size_t>(elements[i])] = true;
    std::vector<std::size_t> unnamed;
    for (std::size_t i = 0; i < end; ++i) {
        if (!is_named[i]) unnamed.push_back(i);
    }
    return unnamed;
}

void check_mean(const ShapeCheck& check, Unnamed unnamed, std::size_t named, std::size_t all) {
    check.demand(unnamed != Unnamed::mean || named > 0 || all == 0,
                 "there is no mean of nothing for the other ", all);
}

bool writes_unnamed(Unnamed unnamed, bool accumulate) {
    return unnamed == Unnamed::mean || (unnamed == Unnamed::zero && !accumulate);
}

std::size_t scattered_bytes(const device::ConstTensor& input, const device::ConstTensor& output,
                            Unnamed unnamed, bool accumulate) {
    const bool writes_all = writes_unnamed(unnamed, accumulate);
    return input.bytes() + (accumulate ? 2 : 1) * (writes_all ? output.bytes() : input.bytes());
}

}  // namespace trireme::kernels
