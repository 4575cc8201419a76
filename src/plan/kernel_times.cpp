#include "trireme/plan/kernel_times.hpp"

#include <algorithm>
#include <cmath>

#include "plan/scattered.hpp"

namespace trireme::plan {
namespace {

BestRates best_of(const std::vector<KernelProfile>& measured) {
    BestRates best;
    for (const KernelProfile& each : measured) {
        best.flops = std::max(best.flops, each.call.flops / each.seconds);
        best.bandwidth = std::max(best.bandwidth, each.call.bytes / each.seconds);
        best.shortest = best.shortest == 0 ? each.seconds : std::min(best.shortest, each.seconds);
    }
    return best;
}

}  // namespace

double BestRates::seconds(const KernelCall& call, double clock) const {
    const double arithmetic = flops > 0 ? call.flops / (flops * clock) : 0;
    const double memory = bandwidth > 0 ? call.bytes / bandwidth : 0;
    return std::max(arithmetic, memory) + shortest;
}

// A matmul is described by its shape. Attention consists of many matmuls: their number grows with the bytes,
// their size with the flops per byte.
std::vector<double> KernelTimes::coordinates_of(const KernelCall& call) {
    std::vector<double> place;
    if (call.product[0] > 0) {
        for (const std::size_t extent : call.product) place.push_back(std::log(static_cast<double>(extent)));
    } else if (call.flops > 0) {
        place = {std::log(call.bytes), std::log(call.flops / call.bytes)};
    }
    return place;
}

KernelTimes::KernelTimes(const std::vector<KernelProfile>& measured) : best_(best_of(measured)) {
    for (const KernelProfile& each : measured) {
        kernels_[each.kernel].push_back({.place = coordinates_of(each.call),
                                         .bytes = each.call.bytes,
                                         .seconds = each.seconds,
                                         .log_reached = std::log(best_.seconds(each.call) / each.seconds)});
    }
    for (auto& [kernel, knots] : kernels_) std::ranges::stable_sort(knots, {}, &Knot::bytes);
}

double KernelTimes::seconds_by_bytes(const Knots& knots, double bytes) {
    const auto above = std::ranges::lower_bound(knots, bytes, {}, &Knot::bytes);
    if (above == knots.end()) return knots.back().seconds * bytes / knots.back().bytes;
    if (above->bytes == bytes) {  // several calls may have equal bytes: take the middle one
        const auto end = std::ranges::upper_bound(knots, bytes, {}, &Knot::bytes);
        return (above + (end - above) / 2)->seconds;
    }
    if (above == knots.begin()) return above->seconds * bytes / above->bytes;
    const auto below = above - 1;
    const double way = (bytes - below->bytes) / (above->bytes - below->bytes);
    return below->seconds + way * (above->seconds - below->seconds);
}

double KernelTimes::log_reached(const Knots& knots, const std::vector<double>& place) {
    std::vector<ScatteredValue> values;
    for (const Knot& knot : knots) values.push_back({.place = &knot.place, .value = knot.log_reached});
    return interpolated(values, place);
}

double KernelTimes::seconds(std::string_view kernel, const KernelCall& call, double clock) const {
    const double at_best = best_.seconds(call);
    const auto found = kernels_.find(kernel);
    double seconds = at_best;
    if (found != kernels_.end()) {
        const std::vector<double> place = coordinates_of(call);
        const Knots& knots = found->second;
        const bool has_places = !place.empty() && knots.front().place.size() == place.size();
        seconds =
            has_places ? at_best / std::exp(log_reached(knots, place)) : seconds_by_bytes(knots, call.bytes);
    }
    const double slower = at_best > 0 ? best_.seconds(call, clock) / at_best : 1;
    return std::max(seconds, best_.shortest) * slower;
}

}  // namespace trireme::plan
