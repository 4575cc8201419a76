// Divides work among the threads of a stream. The division never changes a result: each element is computed by
// one thread, in an order that does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme::kernels::cpu {

// Minimum elements per thread: with fewer, starting another thread costs more than it saves.
inline constexpr std::size_t elements_per_thread = 32768;

// Returns the number of parts, at most `threads`, into which to divide `count` items with at least `grain`
// items per part.
inline std::size_t part_count(int threads, std::size_t count, std::size_t grain) {
    return std::clamp<std::size_t>(count / std::max<std::size_t>(grain, 1), 1,
                                   static_cast<std::size_t>(threads));
}

// Calls body(part) for every part, each on a thread of its own.
template <class Body>
void for_each_part(std::size_t parts, const Body& body) {
    if (parts == 1) return body(std::size_t{0});
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
    for (std::size_t part = 0; part < parts; ++part) body(part);
}

// Calls body(begin, end) in parallel for ranges that cover [0, count) and begin at multiples of `step`.
template <class Body>
void for_each_range(int threads, std::size_t count, std::size_t grain, std::size_t step, const Body& body) {
    const std::size_t parts = part_count(threads, count, grain);
    const std::size_t steps = (count + step - 1) / step;
    for_each_part(parts, [&](std::size_t part) {
        const std::size_t begin = std::min(count, steps * part / parts * step);
        const std::size_t end = std::min(count, steps * (part + 1) / parts * step);
        if (begin < end) body(begin, end);
    });
}

// Calls body(begin, end) in parallel for ranges of the rows of a matrix.
template <class Body>
void for_each_rows(int threads, std::size_t rows, std::size_t columns, const Body& body) {
    for_each_range(threads, rows, elements_per_thread / std::max<std::size_t>(columns, 1) + 1, 1, body);
}

// Calls body(begin, end) in parallel for ranges of the columns of a matrix, which begin at multiples of 16.
template <class Body>
void for_each_columns(int threads, std::size_t rows, std::size_t columns, const Body& body) {
    for_each_range(threads, columns, elements_per_thread / std::max<std::size_t>(rows, 1) + 1, 16, body);
}

}  // namespace trireme::kernels::cpu
