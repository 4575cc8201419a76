// The limits of this machine, measured: how fast one library call multiplies, how fast memory is copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace trireme::perf {

struct Seconds {
    double least = 0;
    double median = 0;
};

// What the calling thread has used of its processor: on a shared machine the wall clock measures the
// neighbours.
double processor_seconds();

// Of `repeats` calls on one thread, after one to warm up.
template <class Work>
Seconds measure(std::size_t repeats, const Work& work) {
    work();
    std::vector<double> seconds(repeats);
    for (double& s : seconds) {
        const double begin = processor_seconds();
        work();
        s = processor_seconds() - begin;
    }
    std::sort(seconds.begin(), seconds.end());
    return {seconds.front(), seconds[repeats / 2]};
}

// A plain product: output (rows x columns) = or += left (rows x depth) right (depth x columns), f32.
struct PlainProduct {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t depth = 0;
    bool is_left_transposed = false;
    bool is_right_transposed = false;
    bool accumulate = false;
};

// One call of the matrix library, or the faster of its two ways where it has two (oneDNN: gemm and matmul).
Seconds library_seconds(const PlainProduct& product, std::size_t repeats);

// Bytes per second, read and written, of memcpy between arrays of `bytes` bytes, or of scaling one in place
// where that is faster: a copy also reads the lines that it will overwrite.
double copy_bandwidth(std::size_t bytes, std::size_t repeats);

}  // namespace trireme::perf
