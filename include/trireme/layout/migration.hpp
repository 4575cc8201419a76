// Offloaded matmuls: fractions of a slow rank's matmuls that a helper rank of its team computes (FlexTP's
// migration).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trireme::layout {

// The matmuls of a block whose input channels can be skipped or offloaded.
enum class Matmul : std::uint8_t { attention_in, attention_out, mlp_in, mlp_out };
inline constexpr std::size_t block_matmul_count = 4;

// A fraction of the input channels, from 0 to 1, for each matmul.
using MatmulFractions = std::array<double, block_matmul_count>;

// The matmuls that one helper rank computes for one slow rank.
struct Migration {
    int from = 0;                    // the slow rank
    int to = 0;                      // the helper rank
    MatmulFractions fractions = {};  // of the input channels of each matmul of `from` that `to` computes

    double fraction(Matmul matmul) const { return fractions[static_cast<std::size_t>(matmul)]; }

    friend bool operator==(const Migration&, const Migration&) = default;
};

// Returns the fraction of the input channels of each matmul of `rank` that no rank computes:
// `uncomputed_fraction`, which `rank` itself does not compute, minus the fractions that its helper ranks
// compute, but at least 0.
MatmulFractions compute_skipped_fractions(const std::vector<Migration>& all, int rank,
                                          double uncomputed_fraction);

// Returns one value per rank: the mean of its compute_skipped_fractions() over the four matmuls.
// `uncomputed_fractions` has one value per rank; if it is empty, so is the result.
std::vector<double> compute_mean_skipped_fractions(const std::vector<Migration>& all,
                                                   const std::vector<double>& uncomputed_fractions);

// Returns the migrations between ranks of `team`, with each rank replaced by its position in `team`.
std::vector<Migration> find_team_migrations(const std::vector<Migration>& all, const std::vector<int>& team);

}  // namespace trireme::layout
