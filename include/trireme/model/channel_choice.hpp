// Which input channels of a projection are left out, and how many. Functions of what they are given alone.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "trireme/base/random.hpp"

namespace trireme::model {

// Channels are left out in whole tiles of so many: eight floats fill a vector register, and a product with a
// part of one more takes as long as with all of it.
inline constexpr std::size_t channel_tile = 8;

// How many are kept where `ratio` of them, in [0, 1), is to be left out: the nearest number of tiles is (of
// equals the larger), but one tile at least is kept.
std::size_t kept_count(std::size_t channels, double ratio);

// How many each of some helpers computes of the channels of another rank: in whole tiles, of which the sum of
// the parts gets as many as are nearest. One tile at least is left.
std::vector<std::size_t> lent_counts(std::size_t channels, std::span<const double> parts);

// A projection beside others among which a ratio is shared.
struct ResizableWork {
    std::size_t channels = 0;
    double work = 0;       // of all channels, in any unit: multiplications, milliseconds
    double variation = 0;  // mean of its channels
};

// How many of each are kept where `ratio` of all work is to be left out: the less of a projection the more it
// varies beside the one that varies most, in proportion to 1 - variation / largest variation; where all vary
// alike, the same of each. None leaves out more than `limit`; what these cannot, the others do. What is left
// out is the wanted work to within one tile's, or else all that the limit allows.
std::vector<std::size_t> kept_counts(std::span<const ResizableWork> all, double ratio, double limit);

//   priority   the channels whose weights have varied most (FlexTP; of equals the lower)
//   first      the lowest ones
//   random     channels drawn by `key`
//   window     those next to each other that have varied most together (of equals the lower)
enum class ChannelPolicy : std::uint8_t { priority, first, random, window };

// Ascending; `count` is at most as many as there are.
std::vector<std::int32_t> choose_channels(ChannelPolicy policy, std::span<const double> variation,
                                          std::size_t count, RandomKey key);

// Notes how far the weights of the channels that were kept have moved. The others keep the score they had, so
// that they return once the kept ones move less.
void note_change(std::span<const std::int32_t> kept, std::span<const double> change,
                 std::span<double> variation);

}  // namespace trireme::model
