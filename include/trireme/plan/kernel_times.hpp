// Estimates the time of kernels on a machine, from measurements of some of their calls.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::plan {

// The size of a kernel call, as the device counts it: see Cost.
struct KernelCall {
    double flops = 0;                         // of its matmuls
    double bytes = 0;                         // each operand read or written once
    std::array<std::size_t, 3> product = {};  // rows, columns and depth; zeros if it is no single matmul

    friend bool operator==(const KernelCall&, const KernelCall&) = default;
};

struct KernelProfile {
    std::string kernel;  // "linear"
    KernelCall call = {};
    std::size_t calls = 0;  // number of measured calls
    double seconds = 0;     // per call: the median

    friend bool operator==(const KernelProfile&, const KernelProfile&) = default;
};

// The best rates that any of the measured calls reached.
struct BestRates {
    double flops = 0;      // per second; 0 if no call has a matmul
    double bandwidth = 0;  // bytes per second; 0 if no call reads memory
    double shortest = 0;   // seconds of the shortest call

    // Returns the larger of arithmetic and memory time, which overlap, plus the shortest call. `clock` is a
    // fraction of the clock of the measurement; memory does not depend on it.
    double seconds(const KernelCall& call, double clock = 1) const;
};

// A measured call takes the measured time. Between measured calls the estimate is interpolated:
//   for matmuls and attention, the fraction of the best rates that a call reaches, over the logarithms of its
//     shape: rows, columns and depth for matmuls, bytes and flops per byte for attention;
//   for all other kernels, the seconds, piecewise linearly over the bytes.
// Beyond them a call reaches the same fraction as the nearest one, and takes at least as long as the shortest
// call of all. A kernel that was never measured takes the time that the best rates give.
class KernelTimes {
public:
    explicit KernelTimes(const std::vector<KernelProfile>& measured);

    // `clock` is a fraction of the clock of the measurement. Calls limited by arithmetic take longer at a lower
    // clock.
    double seconds(std::string_view kernel, const KernelCall& call, double clock = 1) const;

    bool knows(std::string_view kernel) const { return kernels_.contains(kernel); }
    const BestRates& best() const { return best_; }

private:
    struct Knot {
        std::vector<double> place;  // logarithms of the shape; empty for calls that are known by their bytes
        double bytes = 0;
        double seconds = 0;
        double log_reached = 0;  // logarithm of the reached fraction of the best rates
    };
    using Knots = std::vector<Knot>;  // calls of one kernel, by ascending bytes

    static std::vector<double> coordinates_of(const KernelCall& call);
    static double seconds_by_bytes(const Knots& knots, double bytes);
    static double log_reached(const Knots& knots, const std::vector<double>& place);

    BestRates best_;
    std::map<std::string, Knots, std::less<>> kernels_;
};

}  // namespace trireme::plan
