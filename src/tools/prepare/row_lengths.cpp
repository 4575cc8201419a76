#include "tools/prepare/row_lengths.hpp"

#include <algorithm>

namespace trireme {

RowLengths summarise(std::vector<std::uint64_t> lengths) {
    if (lengths.empty()) return {};
    std::sort(lengths.begin(), lengths.end());
    const auto at = [&lengths](std::size_t percent) {
        const std::size_t rank = (lengths.size() * percent + 99) / 100;  // 1 to the number of rows
        return lengths[std::max<std::size_t>(rank, 1) - 1];
    };
    return {lengths.front(), at(50), at(90), at(99), lengths.back()};
}

}  // namespace trireme
