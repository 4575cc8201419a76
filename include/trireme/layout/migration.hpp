// Offloaded matmuls: fractions of a slow rank's matmuls that a helper rank of its team computes (FlexTP's
// migration).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trireme::layout {

// The matmuls of a block.
enum class Product : std::uint8_t { attention_in, attention_out, mlp_in, mlp_out };
inline constexpr std::size_t product_count = 4;

// Fraction of the input channels of each matmul, from 0 to 1.
using ProductParts = std::array<double, product_count>;

struct Migration {
    int from = 0;  // the slow rank
    int to = 0;    // its helper
    ProductParts parts = {};

    double part(Product product) const { return parts[static_cast<std::size_t>(product)]; }

    friend bool operator==(const Migration&, const Migration&) = default;
};

// Returns the fraction of the input channels of each matmul of `rank` that no rank computes: the fraction
// `not_computed` that `rank` itself does not compute, minus the fractions that helper ranks compute, but at
// least 0.
ProductParts left_out_beside(const std::vector<Migration>& all, int rank, double not_computed);

// Returns the mean of left_out_beside() over the four matmuls, per rank. `not_computed` has one value per rank;
// if it is empty, so is the result.
std::vector<double> left_out_shares(const std::vector<Migration>& all, const std::vector<double>& not_computed);

// Returns the migrations between ranks of `team`, with ranks replaced by their positions in `team`.
std::vector<Migration> within(const std::vector<Migration>& all, const std::vector<int>& team);

}  // namespace trireme::layout
