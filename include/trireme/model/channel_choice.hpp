// Chooses how many and which input channels of a projection are skipped or offloaded. All functions are pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/base/random.hpp"

namespace trireme::model {

// Channels are skipped and offloaded in whole tiles of this number of channels: eight floats fill a vector
// register, and a partly filled register does not make a matmul faster.
inline constexpr std::size_t channel_tile = 8;

// Returns the number of channels that are kept if the fraction `skipped_fraction`, in [0, 1), of `channels` is
// skipped. The number of skipped channels is rounded to the nearest number of tiles (halves up). At least one
// tile is kept.
std::size_t count_kept_channels(std::size_t channels, double skipped_fraction);

// Returns the number of channels that an owner offloads to each helper rank. `fractions` has one fraction of
// `channels` per helper. Each count is a multiple of channel_tile: the cumulative sums of the counts are those
// of `channels` times fraction, rounded to the nearest tile. At least one tile stays with the owner.
std::vector<std::size_t> count_offloaded_channels(std::size_t channels, std::span<const double> fractions);

// A projection among several that together skip a fraction of their work.
struct ResizableWork {
    std::size_t channels = 0;
    double work = 0;       // of all channels, in any unit: flops, milliseconds
    double variation = 0;  // mean over the channels: see choose_channels()
};

// Returns the number of channels that each projection keeps if together they skip the fraction
// `skipped_fraction` of their work. The skipped fraction of a projection is proportional to 1 - variation /
// largest variation; if all variations are equal, so are the fractions. No projection skips more than the
// fraction `limit`; what exceeds it is skipped by the other projections. Because of whole tiles, the skipped
// work differs from the requested work by at most one tile; it may be less if the limit prevents more.
std::vector<std::size_t> plan_kept_channels(std::span<const ResizableWork> projections, double skipped_fraction,
                                            double limit);

// Rule that chooses the channels that are kept. The variation of a channel is how much its weights changed in a
// period.
//   priority   the channels with the largest variation (FlexTP); ties go to the lower channel
//   first      the lowest channels
//   random     channels drawn with `key`
//   window     the adjacent channels with the largest total variation; ties go to the lowest window
enum class ChannelPolicy : std::uint8_t { priority, first, random, window };

// Returns `count` channels in ascending order. `variation` has one value per channel. Throws BugError if
// `count` exceeds the number of channels.
std::vector<std::int32_t> choose_channels(ChannelPolicy policy, std::span<const double> variation,
                                          std::size_t count, RandomKey key);

// Copies the values of the kept channels from `change` to `variation`. Skipped channels keep their old
// variation, so they are chosen again once the variation of the kept channels has become smaller.
void update_variation(std::span<const std::int32_t> kept, std::span<const double> change,
                      std::span<double> variation);

}  // namespace trireme::model
