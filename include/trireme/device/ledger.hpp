// The work that ran on a stream: the costs of kernels, and counts of passes.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace trireme::device {

// The arithmetic and memory traffic that one kernel call needs on any backend.
struct Cost {
    std::string_view kernel;              // a string literal, for example "linear"
    double flops = 0;                     // multiplications and additions of its matmuls
    double bytes = 0;                     // memory traffic if each operand is read or written once
    std::array<std::size_t, 3> matmul{};  // M, N and K of BLAS; zeros if the kernel is not a single matmul

    // Returns true for a matmul with weights. False for attention, whose many small matmuls are not described
    // by `matmul`.
    bool is_weight_matmul() const { return matmul[0] > 0; }
};

// The work ledger: calls, seconds and costs of kernels. It has one entry per kernel name and matmul shape, in
// the order of first use.
class Ledger {
public:
    struct Entry {
        Cost total_cost;  // name and matmul shape of the kernel; flops and bytes summed over its calls
        std::size_t calls = 0;
        double seconds = 0;
    };
    // `clock_delay` is the time that the kernel took longer than at the highest clock, and `joules` its energy.
    void add(const Cost& cost, double seconds, double clock_delay = 0, double joules = 0);
    void clear();
    const std::vector<Entry>& entries() const { return entries_; }
    double seconds() const;                              // sum over all entries
    double flops() const;                                // sum over all entries
    double clock_delay() const { return clock_delay_; }  // seconds, sum over all kernels
    double joules() const { return joules_; }            // sum over all kernels

private:
    std::vector<Entry> entries_;
    double clock_delay_ = 0;
    double joules_ = 0;
};

// Time and flops of the matmuls in transformer blocks. All ranks run such matmuls, so the speeds of ranks can
// be compared.
struct MatmulWork {
    double seconds = 0;
    double clock_delay = 0;  // seconds that the matmuls took longer than at the highest clock
    double flops = 0;
    double full_flops = 0;        // flops that the rank would execute without resizing and migration
    double expected_seconds = 0;  // see Stream::expect_seconds
    double calls = 0;

    MatmulWork& operator+=(const MatmulWork& other);
    MatmulWork operator-(const MatmulWork& other) const;
    MatmulWork operator/(double count) const;
};

// Numbers of layers in the passes of micro-batches, without recomputed ones.
struct LayerPasses {
    double forward = 0;
    double backward = 0;
    double cached = 0;  // forward passes that were not computed, because samples were in the cache
};

// Visits of samples whose output of the frozen layers was in the cache, or not.
struct CacheVisits {
    double hits = 0;
    double misses = 0;
};

}  // namespace trireme::device
