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
    const double arithmetic = flops > 0 ? call.flops / (flops * clock) : 0;
    const double memory = bandwidth > 0 ? call.bytes / bandwidth : 0;
    return std::max(arithmetic, memory) + min_seconds;
}

// Returns the logarithms of the numbers on which the efficiency of a call depends, or nothing if the call has
// no matmul. For a matmul these are rows, columns and depth. Attention consists of many matmuls, whose number
// grows with the bytes and whose size grows with the flops per byte.
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
    const auto after = std::ranges::lower_bound(knots, bytes, {}, &Knot::bytes);
    if (after == knots.end()) return knots.back().seconds * bytes / knots.back().bytes;
    if (after->bytes == bytes) {  // several calls may have equal bytes: use the one in the middle
        const auto end = std::ranges::upper_bound(knots, bytes, {}, &Knot::bytes);
        return (after + (end - after) / 2)->seconds;
    }
    if (after == knots.begin()) return after->seconds * bytes / after->bytes;
    const auto before = after - 1;
    const double fraction = (bytes - before->bytes) / (after->bytes - before->bytes);
    return before->seconds + fraction * (after->seconds - before->seconds);
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
        const bool is_interpolated_by_shape =
            !coordinates.empty() && knots.front().coordinates.size() == coordinates.size();
        seconds = is_interpolated_by_shape
                      ? seconds_at_best_rates / std::exp(interpolate_log_efficiency(knots, coordinates))
                      : interpolate_seconds_by_bytes(knots, call.bytes);
    }
    const double slowdown =
        seconds_at_best_rates > 0 ? best_rates_.predict_seconds(call, clock) / seconds_at_best_rates : 1;
    return std::max(seconds, best_rates_.min_seconds) * slowdown;
}

}  // namespace trireme::plan
