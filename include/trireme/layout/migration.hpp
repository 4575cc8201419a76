// Offloaded matmuls: fractions of a slow rank's matmuls that a helper rank of its team computes (FlexTP's
// migration).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace trireme::layout {

// The matmuls of a block. Their input channels can be skipped or offloaded.
enum class Matmul : std::uint8_t { attention_in, attention_out, mlp_in, mlp_out };
inline constexpr std::size_t block_matmul_count = 4;

// For each Matmul, a fraction of its input channels, from 0 to 1.
using MatmulFractions = std::array<double, block_matmul_count>;

// The fractions of one slow rank's matmuls that one helper rank computes.
struct Migration {
    int from = 0;                    // the slow rank
    int to = 0;                      // the helper rank
    MatmulFractions fractions = {};  // per matmul of `from`: fraction of its input channels that `to` computes

    double fraction(Matmul matmul) const { return fractions[static_cast<std::size_t>(matmul)]; }

    friend bool operator==(const Migration&, const Migration&) = default;
};

// Returns, for each matmul of `rank`, the fraction of its input channels that no rank computes.
// `uncomputed_fraction` is the fraction of the input channels of each matmul that `rank` itself does not
// compute, or 0 if the rank skips no channels. The result is `uncomputed_fraction` minus the fractions that
// helper ranks compute for `rank` according to `all`, but at least 0.
MatmulFractions compute_skipped_fractions(const std::vector<Migration>& all, int rank,
                                          double uncomputed_fraction);

// Returns one value per rank: the mean of compute_skipped_fractions() over the four matmuls.
// `uncomputed_fractions` has one value per rank. If `uncomputed_fractions` is empty, the result is empty.
std::vector<double> compute_mean_skipped_fractions(const std::vector<Migration>& all,
                                                   const std::vector<double>& uncomputed_fractions);

// Returns those migrations of `all` whose two ranks are in `team`. The result has the index in `team` in place
// of each rank.
std::vector<Migration> find_team_migrations(const std::vector<Migration>& all, const std::vector<int>& team);

}  // namespace trireme::layout
