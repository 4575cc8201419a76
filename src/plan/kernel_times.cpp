#include "trireme/plan/kernel_times.hpp"

#include <algorithm>
#include <cmath>

#include "plan/interpolate.hpp"

namespace trireme::plan {
namespace {

BestRates find_best_rates(const std::vector<KernelProfile>& measured) {
    BestRates best;
    for (const KernelProfile& each : measured) {
        best.flops = std::max(best.flops, each.call.flops / each.seconds);
        best.bandwidth = std::max(best.bandwidth, each.call.bytes / each.seconds);
        best.min_seconds = best.min_seconds == 0 ? each.seconds : std::min(best.min_seconds, each.seconds);
    }
    return best;
}

}  // namespace

double BestRates::predict_seconds(const KernelCall& call, double clock) const {
    const double arithmetic_seconds = flops > 0 ? call.flops / (flops * clock) : 0;
    const double memory_seconds = bandwidth > 0 ? call.bytes / bandwidth : 0;
    return std::max(arithmetic_seconds, memory_seconds) + min_seconds;
}

// Returns the logarithms of the numbers on which the efficiency of a call depends; empty if the call has no
// matmul. For a single matmul, the numbers are rows, columns and depth. For attention, the numbers are bytes
// and flops per byte. Attention consists of many matmuls: their number grows with the bytes, and their size
// grows with the flops per byte.
std::vector<double> KernelTimes::find_coordinates(const KernelCall& call) {
    std::vector<double> coordinates;
    if (call.matmul[0] > 0) {
        for (const std::size_t extent : call.matmul)
            coordinates.push_back(std::log(static_cast<double>(extent)));
    } else if (call.flops > 0) {
        coordinates = {std::log(call.bytes), std::log(call.flops / call.bytes)};
    }
    return coordinates;
}

KernelTimes::KernelTimes(const std::vector<KernelProfile>& measured) : best_rates_(find_best_rates(measured)) {
    for (const KernelProfile& each : measured) {
        kernels_[each.kernel].push_back(
            {.coordinates = find_coordinates(each.call),
             .bytes = each.call.bytes,
             .seconds = each.seconds,
             .log_efficiency = std::log(best_rates_.predict_seconds(each.call) / each.seconds)});
    }
    for (auto& [kernel, knots] : kernels_) std::ranges::stable_sort(knots, {}, &Knot::bytes);
}

double KernelTimes::interpolate_seconds_by_bytes(const Knots& knots, double bytes) {
    // `upper` is the first knot with at least `bytes` bytes.
    const auto upper = std::ranges::lower_bound(knots, bytes, {}, &Knot::bytes);
    if (upper == knots.end()) return knots.back().seconds * bytes / knots.back().bytes;
    if (upper->bytes == bytes) {  // several knots may have these bytes: use the one in the middle
        const auto end = std::ranges::upper_bound(knots, bytes, {}, &Knot::bytes);
        return (upper + (end - upper) / 2)->seconds;
    }
    if (upper == knots.begin()) return upper->seconds * bytes / upper->bytes;
    const auto lower = upper - 1;
    const double fraction = (bytes - lower->bytes) / (upper->bytes - lower->bytes);
    return lower->seconds + fraction * (upper->seconds - lower->seconds);
}

double KernelTimes::interpolate_log_efficiency(const Knots& knots, const std::vector<double>& coordinates) {
    std::vector<ScatteredValue> values;
    for (const Knot& knot : knots)
        values.push_back({.coordinates = &knot.coordinates, .value = knot.log_efficiency});
    return interpolate(values, coordinates);
}

double KernelTimes::predict_seconds(std::string_view kernel, const KernelCall& call, double clock) const {
    const double seconds_at_best_rates = best_rates_.predict_seconds(call);
    const auto found = kernels_.find(kernel);
    double seconds = seconds_at_best_rates;
    if (found != kernels_.end()) {
        const std::vector<double> coordinates = find_coordinates(call);
        const Knots& knots = found->second;
        const bool interpolates_efficiency =
            !coordinates.empty() && knots.front().coordinates.size() == coordinates.size();
        seconds = interpolates_efficiency
                      ? seconds_at_best_rates / std::exp(interpolate_log_efficiency(knots, coordinates))
                      : interpolate_seconds_by_bytes(knots, call.bytes);
    }
    const double slowdown =
        seconds_at_best_rates > 0 ? best_rates_.predict_seconds(call, clock) / seconds_at_best_rates : 1;
    return std::max(seconds, best_rates_.min_seconds) * slowdown;
}

}  // namespace trireme::plan
