// What kernels take on a machine where some of their calls were measured.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::plan {

// A kernel's call, as the device counts it: see Cost.
struct KernelCall {
    double flops = 0;                         // of its matrix products
    double bytes = 0;                         // read and written once
    std::array<std::size_t, 3> product = {};  // rows, columns and depth; zeros if it is no single product

    friend bool operator==(const KernelCall&, const KernelCall&) = default;
};

struct KernelProfile {
    std::string kernel;  // "linear"
    KernelCall call = {};
    std::size_t calls = 0;  // that were measured
    double seconds = 0;     // of one: the median

    friend bool operator==(const KernelProfile&, const KernelProfile&) = default;
};

// The most that any of the measured calls reached.
struct BestRates {
    double flops = 0;      // a second; 0: nothing multiplies
    double bandwidth = 0;  // bytes a second; 0: nothing is read
    double shortest = 0;   // seconds of a call

    // Arithmetic hides behind memory, or memory behind arithmetic. Memory does not follow the clock, a share of
    // the one that was measured at.
    double seconds(const KernelCall& call, double clock = 1) const;
};

// A call that was measured takes what it took. Between such calls
//   of matrix products, and of attention, what a call reaches of the best rates is interpolated over the
//     logarithms of its shape: rows, columns and depth; bytes, and flops a byte;
//   of all other kernels, seconds are, piecewise linearly over the bytes.
// Beyond them it reaches what the nearest does, and takes no less than the shortest call of all. A kernel that
// was never measured takes what the best rates say.
class KernelTimes {
public:
    explicit KernelTimes(const std::vector<KernelProfile>& measured);

    // At a share of the clock that was measured at: what arithmetic bounds takes longer at less.
    double seconds(std::string_view kernel, const KernelCall& call, double clock = 1) const;

    bool knows(std::string_view kernel) const { return kernels_.contains(kernel); }
    const BestRates& best() const { return best_; }

private:
    struct Knot {
        std::vector<double> place;  // see above; empty for calls that are known by their bytes
        double bytes = 0;
        double seconds = 0;
        double log_reached = 0;  // of the best rates
    };
    using Knots = std::vector<Knot>;  // of one kernel, by rising bytes

    static std::vector<double> coordinates_of(const KernelCall& call);
    static double seconds_by_bytes(const Knots& knots, double bytes);
    static double log_reached(const Knots& knots, const std::vector<double>& place);

    BestRates best_;
    std::map<std::string, Knots, std::less<>> kernels_;
};

}  // namespace trireme::plan
