#include "train/step_outcome.hpp"

#include <algorithm>
#include <cmath>

namespace trireme {
namespace {

std::vector<RankTimes> times_of_ranks(const Gathered& all) {
    const auto products = all.of_ranks(RecordFields::products);
    const auto flops = all.of_ranks(RecordFields::product_flops);
    const auto whole = all.of_ranks(RecordFields::whole_flops);
    const auto others = all.of_ranks(RecordFields::others);
    const auto waits = all.of_ranks(RecordFields::wait);
    std::vector<RankTimes> times;
    for (std::size_t r = 0; r < products.size(); ++r)
        times.push_back({.products = products[r],
                         .product_flops = flops[r],
                         .whole_flops = whole[r],
                         .others = others[r],
                         .waits = waits[r]});
    return times;
}

Stop stop_of_ranks(const Gathered& all) {
    const std::vector<double> wishes = all.of_ranks(RecordFields::stop);
    const auto first = std::ranges::max_element(wishes);
    return {.reason = static_cast<StopReason>(static_cast<int>(*first)),
            .rank = static_cast<int>(first - wishes.begin())};
}

}  // namespace

void add_records(const Gathered& all, StepOutcome& outcome) {
    outcome.ranks = times_of_ranks(all);
    const auto ranks = static_cast<double>(outcome.ranks.size());
    outcome.loss = all.sum(RecordFields::loss) / static_cast<double>(outcome.size.targets);
    outcome.gradient_norm = std::sqrt(all.sum(RecordFields::squares));
    outcome.is_skipped = all.sum(RecordFields::skipped) > 0;
    outcome.seconds = all.most(RecordFields::seconds);
    for (const RankTimes& times : outcome.ranks) outcome.compute_seconds += times.busy() / ranks;
    outcome.wait_seconds = all.sum(RecordFields::wait) / ranks;
    outcome.padded_tokens = static_cast<std::size_t>(all.sum(RecordFields::padded_tokens));
    outcome.peak_bytes = static_cast<std::size_t>(all.most(RecordFields::peak_bytes));
    outcome.joules_of_ranks = all.of_ranks(RecordFields::joules);
    outcome.stop = stop_of_ranks(all);
    if (!std::isfinite(all.sum(RecordFields::joules))) outcome.joules_of_ranks.clear();
}

}  // namespace trireme
