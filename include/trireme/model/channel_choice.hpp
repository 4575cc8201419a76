// Chooses which and how many input channels of a projection are skipped or offloaded. Pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/base/random.hpp"

namespace trireme::model {

// Channels are skipped in whole tiles of this size: eight floats fill a vector register, and a matmul takes as
// long with a fraction of a register as with a full one.
inline constexpr std::size_t channel_tile = 8;

// Returns the number of channels that are kept if the fraction `ratio`, in [0, 1), is skipped. The skipped
// number is rounded to the nearest whole number of tiles (halves up). At least one tile is kept.
std::size_t kept_count(std::size_t channels, double ratio);

// Returns the number of channels that each helper rank computes for another rank. `parts` has one fraction per
// helper. Counts are whole tiles; each cumulative sum is rounded to the nearest one. At least one tile remains.
std::vector<std::size_t> lent_counts(std::size_t channels, std::span<const double> parts);

// A projection among others that share a skipped fraction of the work.
struct ResizableWork {
    std::size_t channels = 0;
    double work = 0;       // of all channels, in any unit: multiplications, milliseconds
    double variation = 0;  // mean over its channels
};

// Returns the number of channels that each projection keeps if the fraction `ratio` of all work is skipped. The
// skipped fraction of a projection is proportional to 1 - variation / largest variation, or the same for all if
// all vary alike. No projection skips more than the fraction `limit`; the others skip the remainder. The
// skipped work differs from the requested work by at most one tile, unless the limit forbids more.
std::vector<std::size_t> kept_counts(std::span<const ResizableWork> all, double ratio, double limit);

// Rule that chooses the channels that are kept:
//   priority   the channels whose weights changed most (FlexTP); ties go to the lower channel
//   first      the lowest channels
//   random     channels drawn with `key`
//   window     the adjacent channels whose total change is largest; ties go to the lowest window
enum class ChannelPolicy : std::uint8_t { priority, first, random, window };

// Returns `count` channels in ascending order. Throws BugError if `count` exceeds the number of channels.
std::vector<std::int32_t> choose_channels(ChannelPolicy policy, std::span<const double> variation,
                                          std::size_t count, RandomKey key);

// Copies the scores of the kept channels from `change` to `variation`. Skipped channels keep their old scores,
// so they return once the kept ones change less.
void note_change(std::span<const std::int32_t> kept, std::span<const double> change,
                 std::span<double> variation);

}  // namespace trireme::model
