#include "trireme/model/channel_choice.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

constexpr auto tile = static_cast<double>(channel_tile);

// Returns the number of tiles that may be skipped if at least one is kept.
std::size_t spare_tiles(std::size_t channels) {
    return channels < channel_tile ? 0 : (channels - channel_tile) / channel_tile;
}

// Returns the skipped fractions of the projections, up to a common factor.
std::vector<double> proportions_of(std::span<const ResizableWork> all) {
    double largest = 0;
    for (const ResizableWork& one : all) largest = std::max(largest, one.variation);
    std::vector<double> proportions;
    for (const ResizableWork& one : all) proportions.push_back(largest > 0 ? 1 - one.variation / largest : 1);
    const bool are_alike = std::ranges::all_of(proportions, [](double p) { return p == 0; });
    if (are_alike) std::ranges::fill(proportions, 1);
    return proportions;
}

// Computes the ratios scale * proportion, capped at `limit`, that skip `wanted` units of work.
class SharedRatios {
public:
    SharedRatios(std::span<const ResizableWork> all, double wanted, double limit)
        : all_(all), proportions_(proportions_of(all)), ratios_(all.size(), 0), is_full_(all.size(), false) {
        missing_ = wanted;
        while (missing_ > 0 && share(limit)) {
        }
    }

    const std::vector<double>& ratios() const { return ratios_; }

private:
    // One round: distributes the missing work among the projections below the limit. Those that would exceed
    // the limit get the limit. Returns true if that leaves work for another round.
    bool share(double limit) {
        double open = sum_of_open();
        if (open == 0) {  // only the projections that vary most remain
            std::ranges::fill(proportions_, 1);
            open = sum_of_open();
        }
        if (open == 0) return false;
        const double scale = missing_ / open;
        bool is_over = true;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (is_full_[i] || scale * proportions_[i] < limit) continue;
            is_full_[i] = true;
            ratios_[i] = limit;
            missing_ -= limit * all_[i].work;
            is_over = false;
        }
        if (!is_over) return true;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (!is_full_[i]) ratios_[i] = scale * proportions_[i];
        }
        return false;
    }

    double sum_of_open() const {
        double sum = 0;
        for (std::size_t i = 0; i < all_.size(); ++i) {
            if (!is_full_[i]) sum += proportions_[i] * all_[i].work;
        }
        return sum;
    }

    std::span<const ResizableWork> all_;
    std::vector<double> proportions_;
    std::vector<double> ratios_;
    std::vector<bool> is_full_;
    double missing_ = 0;
};

double tile_work(const ResizableWork& one) { return one.work * tile / static_cast<double>(one.channels); }

// Rounds `exact` numbers of tiles to whole ones: first down, then one tile more where most is missing, until
// the skipped work is as near to `wanted` as whole tiles allow.
std::vector<std::size_t> whole_tiles(std::span<const ResizableWork> all, const std::vector<double>& exact,
                                     const std::vector<std::size_t>& most, double wanted) {
    std::vector<std::size_t> tiles;
    for (std::size_t i = 0; i < all.size(); ++i) {
        tiles.push_back(std::min(most[i], static_cast<std::size_t>(exact[i])));
        wanted -= static_cast<double>(tiles[i]) * tile_work(all[i]);
    }
    const auto missing = [&](std::size_t i) { return exact[i] - static_cast<double>(tiles[i]); };
    std::vector<std::size_t> open(all.size());
    std::iota(open.begin(), open.end(), 0);
    while (true) {
        std::erase_if(open,
                      [&](std::size_t i) { return tiles[i] == most[i] || tile_work(all[i]) > 2 * wanted; });
        if (open.empty()) return tiles;
        const std::size_t next = *std::ranges::max_element(open, {}, missing);
        ++tiles[next];
        wanted -= tile_work(all[next]);
    }
}

std::vector<std::int32_t> first_channels(std::size_t begin, std::size_t count) {
    std::vector<std::int32_t> channels(count);
    std::iota(channels.begin(), channels.end(), static_cast<std::int32_t>(begin));
    return channels;
}

// Returns the channels with the largest scores, ascending. Ties go to the lower channel.
template <class Score>
std::vector<std::int32_t> largest(const std::vector<Score>& scores, std::size_t count) {
    std::vector<std::int32_t> channels = first_channels(0, scores.size());
    const auto score = [&](std::int32_t channel) { return scores[static_cast<std::size_t>(channel)]; };
    std::ranges::stable_sort(channels, std::ranges::greater{}, score);
    channels.resize(count);
    std::ranges::sort(channels);
    return channels;
}

std::vector<std::uint64_t> drawn_scores(RandomKey key, std::size_t count) {
    std::vector<std::uint64_t> scores;
    for (std::size_t i = 0; i < count; ++i) {
        const RandomBlock block = random_block(key, i);
        scores.push_back(std::uint64_t{block[0]} << 32 | block[1]);
    }
    return scores;
}

std::size_t best_window(std::span<const double> variation, std::size_t count) {
    std::vector<double> sums{0};  // prefix sums
    for (const double one : variation) sums.push_back(sums.back() + one);
    std::size_t best = 0;
    for (std::size_t begin = 1; begin + count <= variation.size(); ++begin) {
        const double gain = (sums[begin + count] - sums[begin]) - (sums[best + count] - sums[best]);
        if (gain > 0) best = begin;
    }
    return best;
}

}  // namespace

std::size_t kept_count(std::size_t channels, double ratio) {
    const auto wanted = static_cast<std::size_t>(std::llround(ratio * static_cast<double>(channels) / tile));
    return channels - channel_tile * std::min(wanted, spare_tiles(channels));
}

std::vector<std::size_t> lent_counts(std::size_t channels, std::span<const double> parts) {
    std::vector<std::size_t> counts;
    double sum = 0;
    std::size_t before = 0;
    for (const double part : parts) {
        sum += part;
        const auto nearest = static_cast<std::size_t>(std::llround(sum * static_cast<double>(channels) / tile));
        const std::size_t until = channel_tile * std::min(nearest, spare_tiles(channels));
        counts.push_back(until - before);
        before = until;
    }
    return counts;
}

std::vector<std::size_t> kept_counts(std::span<const ResizableWork> all, double ratio, double limit) {
    double wanted = 0;
    for (const ResizableWork& one : all) wanted += ratio * one.work;
    const SharedRatios shared(all, wanted, limit);
    std::vector<double> exact;
    std::vector<std::size_t> most;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto tiles = static_cast<double>(all[i].channels) / tile;
        exact.push_back(shared.ratios()[i] * tiles);
        most.push_back(std::min(spare_tiles(all[i].channels), static_cast<std::size_t>(limit * tiles)));
    }
    const std::vector<std::size_t> tiles = whole_tiles(all, exact, most, wanted);
    std::vector<std::size_t> kept;
    for (std::size_t i = 0; i < all.size(); ++i) kept.push_back(all[i].channels - channel_tile * tiles[i]);
    return kept;
}

std::vector<std::int32_t> choose_channels(ChannelPolicy policy, std::span<const double> variation,
                                          std::size_t count, RandomKey key) {
    if (count > variation.size())
        throw BugError(cat(count, " channels were to be chosen of ", variation.size()));
    switch (policy) {
        case ChannelPolicy::priority:
            return largest(std::vector(variation.begin(), variation.end()), count);
        case ChannelPolicy::first:
            return first_channels(0, count);
        case ChannelPolicy::random:
            return largest(drawn_scores(key, variation.size()), count);
        case ChannelPolicy::window:
            return first_channels(best_window(variation, count), count);
    }
    throw BugError("unknown channel policy");
}

void note_change(std::span<const std::int32_t> kept, std::span<const double> change,
                 std::span<double> variation) {
    for (const std::int32_t channel : kept) {
        const auto c = static_cast<std::size_t>(channel);
        variation[c] = change[c];
    }
}

}  // namespace trireme::model
