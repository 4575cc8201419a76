// Measured limits of this machine: the rate of a library matmul, and the copy bandwidth of memory.
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

// CPU seconds of the calling thread. On a shared machine the wall clock would also measure other users.
double processor_seconds();

// Measures `repeats` calls on one thread, after one warm-up call.
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

// A plain f32 matmul: output (rows x columns) = or += left (rows x depth) right (depth x columns).
struct PlainMatmul {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t depth = 0;
    bool is_left_transposed = false;
    bool is_right_transposed = false;
    bool accumulate = false;
};

// Returns the seconds of one matmul by the matrix library, from `repeats` calls. If the library has two
// functions for a matmul (oneDNN: gemm and matmul), returns those of the faster function.
Seconds library_seconds(const PlainMatmul& matmul, std::size_t repeats);

// Returns the bytes per second, read and written, of the faster of two operations: memcpy between arrays of
// `bytes` bytes, and scaling of one array in place. Scaling may be faster, because a copy also reads the cache
// lines that it will overwrite.
double measure_copy_bandwidth(std::size_t bytes, std::size_t repeats);

}  // namespace trireme::perf
