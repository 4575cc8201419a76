#include "unit/layout/held_tensors.hpp"

#include "trireme/base/random.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::validation {
namespace {

std::vector<layout::Slice> joined(std::vector<layout::Slice> slices, const std::vector<layout::Slice>& more) {
    slices.insert(slices.end(), more.begin(), more.end());
    return slices;
}

std::vector<layout::Slice> shifted(std::vector<layout::Slice> slices, std::size_t columns) {
    for (layout::Slice& slice : slices) slice.box.columns.begin += columns;
    return slices;
}

// Returns the slices of q | k | v, which have equal widths and equal shares: three boxes per rank.
std::vector<layout::Slice> fused_slices(std::size_t rows, std::size_t width, int first,
                                        const std::vector<std::size_t>& shares) {
    const std::vector<layout::Slice> q = column_slices(rows, width, first, shares);
    return joined(joined(q, shifted(q, width)), shifted(q, 2 * width));
}

// Returns two groups of 3 columns over four ranks; two ranks hold each group.
std::vector<layout::Slice> groups_held_twice() {
    std::vector<layout::Slice> slices;
    for (int rank = 0; rank < 4; ++rank) {
        slices.push_back({rank, {{0, 5}, {rank < 2 ? 0U : 3U, 3}}});
    }
    return slices;
}

layout::Range random_range(RandomKey key, std::size_t length) {
    const auto block = random_block(key, std::uint64_t{0});
    const std::size_t begin = block[0] % length;
    return {begin, block[1] % (length - begin + 1)};
}

layout::HeldTensor random_tensor(std::uint64_t number) {
    const RandomKey key = RandomKey{7}.then(number);
    layout::HeldTensor tensor{"random", 6, 8, number % 5, {}};
    for (int rank = 0; rank < 5; ++rank) {
        const RandomKey own = key.then(static_cast<std::uint64_t>(rank));
        tensor.slices.push_back({rank, {random_range(own.then(0), 6), random_range(own.then(1), 8)}});
    }
    return tensor;
}

HeldCase random_case() {
    HeldCase random{"random boxes", {}};
    for (std::uint64_t number = 0; number < 60; ++number) random.tensors.push_back(random_tensor(number));
    return random;
}

HeldCase tied_case() {
    const layout::HeldTensor tied{"table", 11, 3, 0,
                                  joined(row_slices(11, 3, 0, {5, 3}), row_slices(11, 3, 4, {1, 1, 1}))};
    const layout::HeldTensor first{"first", 4, 6, 1, column_slices(4, 6, 0, {5, 3})};
    const layout::HeldTensor last{"last", 4, 6, 5, column_slices(4, 6, 4, {1, 1, 1})};
    return {"a tied table on stages with different cuts", {tied, first, last}};
}

}  // namespace

layout::HeldTensor whole_tensor(const std::string& name, std::size_t rows, std::size_t columns,
                                const std::vector<int>& ranks, std::size_t last_use) {
    layout::HeldTensor tensor{name, rows, columns, last_use, {}};
    for (const int rank : ranks) tensor.slices.push_back({rank, {{0, rows}, {0, columns}}});
    return tensor;
}

std::vector<layout::Slice> column_slices(std::size_t rows, std::size_t columns, int first,
                                         const std::vector<std::size_t>& shares) {
    std::vector<layout::Slice> slices;
    for (const layout::Range& share : layout::cut_by_weights(columns, shares, "columns")) {
        slices.push_back({first + static_cast<int>(slices.size()), {{0, rows}, share}});
    }
    return slices;
}

std::vector<layout::Slice> row_slices(std::size_t rows, std::size_t columns, int first,
                                      const std::vector<std::size_t>& shares) {
    std::vector<layout::Slice> slices;
    for (const layout::Range& share : layout::cut_by_weights(rows, shares, "rows")) {
        slices.push_back({first + static_cast<int>(slices.size()), {share, {0, columns}}});
    }
    return slices;
}

std::vector<HeldCase> held_cases() {
    return {
        {"shares 5:2:1",
         {{"up", 4, 16, 2, column_slices(4, 16, 0, {5, 2, 1})},
          {"down", 16, 4, 2, row_slices(16, 4, 0, {5, 2, 1})}}},
        {"replicas 3, 3, 2",
         {whole_tensor("a", 7, 3, {0, 1, 2}, 0), whole_tensor("b", 2, 5, {3, 4, 5}, 3),
          whole_tensor("c", 9, 2, {6, 7}, 6)}},
        {"replicas 2, 1", {whole_tensor("a", 5, 2, {0, 1}, 0), whole_tensor("b", 3, 3, {2}, 1)}},
        {"replicas with different cuts",
         {{"up", 3, 8, 4, joined(column_slices(3, 8, 0, {5, 2, 1}), column_slices(3, 8, 3, {1, 1}))},
          {"gain", 1, 8, 4, whole_tensor("", 1, 8, {0, 1, 2, 3, 4}).slices}}},
        tied_case(),
        {"groups held twice", {{"key", 5, 6, 1, groups_held_twice()}}},
        {"a fused projection", {{"qkv", 2, 24, 1, fused_slices(2, 8, 0, {5, 2, 1})}}},
        {"fused projections with different cuts",
         {{"qkv", 2, 24, 1, joined(fused_slices(2, 8, 0, {5, 2, 1}), fused_slices(2, 8, 3, {1, 3}))}}},
        random_case(),
    };
}

}  // namespace trireme::validation
