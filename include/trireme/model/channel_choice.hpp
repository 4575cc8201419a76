// Chooses how many and which input channels of a projection are skipped or offloaded. All functions are pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/base/random.hpp"

namespace trireme::model {

// Number of channels of a tile. Channels are skipped and offloaded in whole tiles: eight floats fill a vector
// register, and a partly filled register takes the same time as a full one.
inline constexpr std::size_t channel_tile = 8;

// Returns the number of channels that are kept if a fraction `skipped_fraction` of `channels` is skipped.
// `skipped_fraction` is in [0, 1). The number of skipped channels is rounded to whole tiles; half a tile is
// rounded up. At least one tile is kept. If there are fewer channels than a tile, all channels are kept.
std::size_t count_kept_channels(std::size_t channels, double skipped_fraction);

// Returns one count per helper rank: the number of channels that a slow rank (the owner) offloads to the helper
// rank. `fractions` has one fraction of `channels` per helper rank. For every k, the first k counts add up to
// `channels` times the sum of the first k fractions, rounded to whole tiles. At least one tile stays with the
// owner.
std::vector<std::size_t> count_offloaded_channels(std::size_t channels, std::span<const double> fractions);

// One of several projections that together skip a fraction of their total work.
struct ResizableWork {
    std::size_t channels = 0;  // number of input channels
    double work = 0;           // work of all channels; any unit, but the same for all projections
    double variation = 0;      // mean variation of the channels: see ChannelPolicy
};

// Returns the number of channels that each projection keeps if all projections together skip the fraction
// `skipped_fraction` of their total work. The skipped fraction of a projection is proportional to 1 - variation
// / largest variation of all projections. If all variations are equal, the skipped fractions are equal. No
// projection skips more than the fraction `limit`; the other projections skip the excess. Because of whole
// tiles, the skipped work differs from the requested work by at most the work of one tile. If all projections
// reach `limit`, the skipped work is less than requested.
std::vector<std::size_t> plan_kept_channels(std::span<const ResizableWork> projections, double skipped_fraction,
                                            double limit);

// A rule that chooses the channels that are kept. The variation of a channel measures how much its weights
// changed in a period, i.e. between two choices.
//   priority   the channels with the largest variation (FlexTP); ties go to the lower channel
//   first      the lowest channels
//   random     channels drawn at random, without repetition
//   window     the adjacent channels with the largest total variation; ties go to the lowest window
enum class ChannelPolicy : std::uint8_t { priority, first, random, window };

// Returns the `count` channels that are kept, in ascending order. `variation` has one value per channel. Only
// ChannelPolicy::random uses `key`. Throws BugError if `count` exceeds the number of channels.
std::vector<std::int32_t> choose_channels(ChannelPolicy policy, std::span<const double> variation,
                                          std::size_t count, RandomKey key);

// Copies the values of the kept channels from `change` to `variation`. Both lists have one value per channel.
// Skipped channels keep their old variation. ChannelPolicy::priority therefore chooses a skipped channel again
// once enough kept channels have a smaller variation than this channel.
void update_variation(std::span<const std::int32_t> kept, std::span<const double> change,
                      std::span<double> variation);

}  // namespace trireme::model
