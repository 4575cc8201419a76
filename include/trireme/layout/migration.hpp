// Of a slow rank's matrix products, parts that another rank of its team computes (FlexTP's migration).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trireme::layout {

// Of a block.
enum class Product : std::uint8_t { attention_in, attention_out, mlp_in, mlp_out };
inline constexpr std::size_t product_count = 4;

// Of the input channels of each of them, from 0 to 1.
using ProductParts = std::array<double, product_count>;

struct Migration {
    int from = 0;  // the slow rank
    int to = 0;    // its helper
    ProductParts parts = {};

    double part(Product product) const { return parts[static_cast<std::size_t>(product)]; }

    friend bool operator==(const Migration&, const Migration&) = default;
};

// Of a rank's products, what it leaves out: of the parts that it does not compute others may compute some.
ProductParts left_out_beside(const std::vector<Migration>& all, int rank, double not_computed);

// Returns for each rank the mean of left_out_beside() over the four products. `not_computed` has a value for
// each rank; if it is empty, so is the result.
std::vector<double> left_out_shares(const std::vector<Migration>& all, const std::vector<double>& not_computed);

// Those between the ranks of a team, by their places in it.
std::vector<Migration> within(const std::vector<Migration>& all, const std::vector<int>& team);

}  // namespace trireme::layout
