#include "trireme/model/channel_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

constexpr auto channels_per_tile = static_cast<double>(channel_tile);  // for divisions without rounding

// Returns the maximum number of tiles that can be skipped or offloaded. At least one tile is kept.
std::size_t count_skippable_tiles(std::size_t channels) {
    return channels < channel_tile ? 0 : (channels - channel_tile) / channel_tile;
}

// Returns, per projection, the number to which its skipped fraction is proportional: 1 - variation / largest
// variation, or 1 for all projections if their variations are equal.
std::vector<double> compute_proportions(std::span<const ResizableWork> projections) {
    double max_variation = 0;
    for (const ResizableWork& projection : projections)
        max_variation = std::max(max_variation, projection.variation);
    std::vector<double> proportions;
    for (const ResizableWork& projection : projections)
        proportions.push_back(max_variation > 0 ? 1 - projection.variation / max_variation : 1);
    const bool are_variations_equal = std::ranges::all_of(proportions, [](double p) { return p == 0; });
    if (are_variations_equal) std::ranges::fill(proportions, 1);
    return proportions;
}

// The skipped fraction per projection: a common scale times the projection's proportion, but at most `limit`.
// The scale is chosen so that all projections together skip the work `skipped_work`. They skip less work only
// if `limit` requires this.
class SkippedFractions {
public:
    SkippedFractions(std::span<const ResizableWork> projections, double skipped_work, double limit)
        : projections_(projections),
          proportions_(compute_proportions(projections)),
          fractions_(projections.size(), 0),
          is_at_limit_(projections.size(), false) {
        remaining_work_ = skipped_work;
        while (remaining_work_ > 0 && distribute_once(limit)) {
        }
    }

    const std::vector<double>& fractions() const { return fractions_; }

private:
    // Distributes the remaining work among the projections below the limit. If some of these projections would
    // reach the limit, sets their fractions to the limit, and returns true: another call must then set the
    // fractions of the others. Returns false once all fractions are set.
    bool distribute_once(double limit) {
        double weighted_work = sum_weighted_work();
        if (weighted_work == 0) {  // all projections below the limit have proportion 0
            std::ranges::fill(proportions_, 1);
            weighted_work = sum_weighted_work();
        }
        if (weighted_work == 0) return false;
        const double scale = remaining_work_ / weighted_work;
        bool are_all_below_limit = true;
        for (std::size_t i = 0; i < projections_.size(); ++i) {
            if (is_at_limit_[i] || scale * proportions_[i] < limit) continue;
            is_at_limit_[i] = true;
            fractions_[i] = limit;
            remaining_work_ -= limit * projections_[i].work;
            are_all_below_limit = false;
        }
        if (!are_all_below_limit) return true;
        for (std::size_t i = 0; i < projections_.size(); ++i) {
            if (!is_at_limit_[i]) fractions_[i] = scale * proportions_[i];
        }
        return false;
    }

    // Returns the sum of proportion times work over the projections below the limit.
    double sum_weighted_work() const {
        double sum = 0;
        for (std::size_t i = 0; i < projections_.size(); ++i) {
            if (!is_at_limit_[i]) sum += proportions_[i] * projections_[i].work;
        }
        return sum;
    }

    std::span<const ResizableWork> projections_;
    std::vector<double> proportions_;
    std::vector<double> fractions_;
    std::vector<bool> is_at_limit_;
    double remaining_work_ = 0;
};

double compute_tile_work(const ResizableWork& projection) {
    return projection.work * channels_per_tile / static_cast<double>(projection.channels);
}

// Rounds `exact_tiles`, the numbers of skipped tiles per projection, to whole numbers of at most `max_tiles`.
// First rounds all numbers down. Then repeatedly adds a tile to the projection with the largest rounding error.
// Ends when each further tile would exceed `max_tiles` or take the skipped work farther from the requested
// work. `remaining_work` starts as the requested work and decreases by the work of each assigned tile.
std::vector<std::size_t> round_to_tiles(std::span<const ResizableWork> projections,
                                        const std::vector<double>& exact_tiles,
                                        const std::vector<std::size_t>& max_tiles, double remaining_work) {
    std::vector<std::size_t> tiles;
    for (std::size_t i = 0; i < projections.size(); ++i) {
        tiles.push_back(std::min(max_tiles[i], static_cast<std::size_t>(exact_tiles[i])));
        remaining_work -= static_cast<double>(tiles[i]) * compute_tile_work(projections[i]);
    }
    const auto compute_rounding_error = [&](std::size_t i) {
        return exact_tiles[i] - static_cast<double>(tiles[i]);
    };
    std::vector<std::size_t> candidates(projections.size());
    std::iota(candidates.begin(), candidates.end(), 0);
    while (true) {
        std::erase_if(candidates, [&](std::size_t i) {
            return tiles[i] == max_tiles[i] || compute_tile_work(projections[i]) > 2 * remaining_work;
        });
        if (candidates.empty()) return tiles;
        const std::size_t next = *std::ranges::max_element(candidates, {}, compute_rounding_error);
        ++tiles[next];
        remaining_work -= compute_tile_work(projections[next]);
    }
}

std::vector<std::int32_t> make_channel_range(std::size_t begin, std::size_t count) {
    std::vector<std::int32_t> channels(count);
    std::iota(channels.begin(), channels.end(), static_cast<std::int32_t>(begin));
    return channels;
}

// Returns the `count` channels with the largest scores, in ascending order. Ties go to the lower channel.
template <class Score>
std::vector<std::int32_t> find_largest(const std::vector<Score>& scores, std::size_t count) {
    std::vector<std::int32_t> channels = make_channel_range(0, scores.size());
    const auto find_score = [&](std::int32_t channel) { return scores[static_cast<std::size_t>(channel)]; };
    std::ranges::stable_sort(channels, std::ranges::greater{}, find_score);
    channels.resize(count);
    std::ranges::sort(channels);
    return channels;
}

// Returns one random number per channel.
std::vector<std::uint64_t> draw_scores(RandomKey key, std::size_t channels) {
    std::vector<std::uint64_t> scores;
    for (std::size_t i = 0; i < channels; ++i) {
        const RandomBlock block = random_block(key, i);
        scores.push_back(std::uint64_t{block[0]} << 32 | block[1]);
    }
    return scores;
}

// Returns the first channel of the window of `count` channels with the largest total variation.
std::size_t find_best_window(std::span<const double> variation, std::size_t count) {
    std::vector<double> prefix_sums{0};
    for (const double value : variation) prefix_sums.push_back(prefix_sums.back() + value);
    std::size_t best_begin = 0;
    for (std::size_t begin = 1; begin + count <= variation.size(); ++begin) {
        const double gain = (prefix_sums[begin + count] - prefix_sums[begin]) -
                            (prefix_sums[best_begin + count] - prefix_sums[best_begin]);
        if (gain > 0) best_begin = begin;
    }
    return best_begin;
}

}  // namespace

std::size_t count_kept_channels(std::size_t channels, double skipped_fraction) {
    const auto skipped_tiles = static_cast<std::size_t>(
        std::llround(skipped_fraction * static_cast<double>(channels) / channels_per_tile));
    return channels - channel_tile * std::min(skipped_tiles, count_skippable_tiles(channels));
}

std::vector<std::size_t> count_offloaded_channels(std::size_t channels, std::span<const double> fractions) {
    std::vector<std::size_t> counts;
    double cumulative_fraction = 0;
    std::size_t previous_end = 0;
    for (const double fraction : fractions) {
        cumulative_fraction += fraction;
        const auto nearest_tiles = static_cast<std::size_t>(
            std::llround(cumulative_fraction * static_cast<double>(channels) / channels_per_tile));
        const std::size_t end = channel_tile * std::min(nearest_tiles, count_skippable_tiles(channels));
        counts.push_back(end - previous_end);
        previous_end = end;
    }
    return counts;
}

std::vector<std::size_t> plan_kept_channels(std::span<const ResizableWork> projections, double skipped_fraction,
                                            double limit) {
    double skipped_work = 0;
    for (const ResizableWork& projection : projections) skipped_work += skipped_fraction * projection.work;
    const SkippedFractions fractions(projections, skipped_work, limit);
    std::vector<double> exact_tiles;
    std::vector<std::size_t> max_tiles;
    for (std::size_t i = 0; i < projections.size(); ++i) {
        const auto all_tiles = static_cast<double>(projections[i].channels) / channels_per_tile;
        exact_tiles.push_back(fractions.fractions()[i] * all_tiles);
        max_tiles.push_back(std::min(count_skippable_tiles(projections[i].channels),
                                     static_cast<std::size_t>(limit * all_tiles)));
    }
    const std::vector<std::size_t> skipped_tiles =
        round_to_tiles(projections, exact_tiles, max_tiles, skipped_work);
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < projections.size(); ++i)
        kept.push_back(projections[i].channels - channel_tile * skipped_tiles[i]);
    return kept;
}

std::vector<std::int32_t> choose_channels(ChannelPolicy policy, std::span<const double> variation,
                                          std::size_t count, RandomKey key) {
    if (count > variation.size())
        throw BugError(cat("cannot choose ", count, " of ", variation.size(), " channels"));
    switch (policy) {
        case ChannelPolicy::priority:
            return find_largest(std::vector(variation.begin(), variation.end()), count);
        case ChannelPolicy::first:
            return make_channel_range(0, count);
        case ChannelPolicy::random:
            return find_largest(draw_scores(key, variation.size()), count);
        case ChannelPolicy::window:
            return make_channel_range(find_best_window(variation, count), count);
    }
    throw BugError("unknown channel policy");
}

void update_variation(std::span<const std::int32_t> kept, std::span<const double> change,
                      std::span<double> variation) {
    for (const std::int32_t channel : kept) {
        const auto c = static_cast<std::size_t>(channel);
        variation[c] = change[c];
    }
}

}  // namespace trireme::model
