// Estimates the seconds of kernel calls on a machine, from measured calls of other sizes.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::plan {

// The size of a kernel call, counted as in device::Cost.
struct KernelCall {
    double flops = 0;                        // of its matmuls
    double bytes = 0;                        // each operand read or written once
    std::array<std::size_t, 3> matmul = {};  // rows, columns and depth; zeros unless the call is one matmul

    friend bool operator==(const KernelCall&, const KernelCall&) = default;
};

// The measured calls of one kernel that have the same size.
struct KernelProfile {
    std::string kernel;  // for example "linear"
    KernelCall call = {};
    std::size_t calls = 0;  // number of measured calls
    double seconds = 0;     // median of the calls

    friend bool operator==(const KernelProfile&, const KernelProfile&) = default;
};

// The best rates among the measured calls.
struct BestRates {
    double flops = 0;        // per second; 0 if no call has a matmul
    double bandwidth = 0;    // bytes per second; 0 if no call accesses memory
    double min_seconds = 0;  // seconds of the shortest call

    // Returns the time of a call at the best rates: the larger of arithmetic time and memory time, plus
    // `min_seconds`. Arithmetic and memory accesses overlap. `clock` is the clock frequency as a fraction of
    // the frequency during the measurement. The clock does not affect memory time.
    double predict_seconds(const KernelCall& call, double clock = 1) const;
};

// A call whose size was measured takes the measured time. Calls of other sizes are interpolated:
//   matmuls     interpolate the efficiency, which is the time at the best rates, divided by the measured time.
//               The coordinates are the logarithms of rows, columns and depth. Outside the range of the
//               measured sizes, a call has the efficiency of the nearest size in the range
//   attention   interpolates the efficiency, too. The coordinates are the logarithms of bytes and of flops per
//               byte
//   others      interpolate the seconds linearly between the next smaller and the next larger number of bytes.
//               Outside the range of the measured bytes, seconds are proportional to bytes
// No call is shorter than the shortest measured call of any kernel. A kernel that was never measured takes the
// time that BestRates predicts.
class KernelTimes {
public:
    explicit KernelTimes(const std::vector<KernelProfile>& measured);

    // Returns the seconds of a call. `clock` is the clock frequency as a fraction of the frequency during the
    // measurement. Calls that are limited by arithmetic take longer at a lower clock.
    double predict_seconds(std::string_view kernel, const KernelCall& call, double clock = 1) const;

    bool has_measured(std::string_view kernel) const { return kernels_.contains(kernel); }
    const BestRates& best_rates() const { return best_rates_; }

private:
    // A measured call. The times of other calls are interpolated between knots.
    struct Knot {
        std::vector<double> coordinates;  // logarithms of the call's sizes: see find_coordinates()
        double bytes = 0;
        double seconds = 0;
        double log_efficiency = 0;  // logarithm of the efficiency
    };
    using Knots = std::vector<Knot>;  // calls of one kernel, by ascending bytes

    static std::vector<double> find_coordinates(const KernelCall& call);
    static double interpolate_seconds_by_bytes(const Knots& knots, double bytes);
    static double interpolate_log_efficiency(const Knots& knots, const std::vector<double>& coordinates);

    BestRates best_rates_;
    std::map<std::string, Knots, std::less<>> kernels_;
};

}  // namespace trireme::plan
