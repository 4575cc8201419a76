// Work shared among the threads of a stream. How work is cut never changes a result: every element is computed
// by one thread, in an order that does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme::kernels::cpu {

// Elements per thread below which starting another thread costs more than it saves.
inline constexpr std::size_t elements_per_thread = 32768;

// Into how many parts to cut `count` things, at least `grain` things each.
inline std::size_t part_count(int threads, std::size_t count, std::size_t grain) {
    return std::clamp<std::size_t>(count / std::max<std::size_t>(grain, 1), 1,
                                   static_cast<std::size_t>(threads));
}

// Calls body(part) for every part, each on its own thread.
template <class Body>
void for_each_part(std::size_t parts, const Body& body) {
    if (parts == 1) return body(std::size_t{0});
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
    for (std::size_t part = 0; part < parts; ++part) body(part);
}

// Calls body(begin, end) for ranges that cover [0, count); each begins at a multiple of `step`.
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

// The rows of a matrix, cut where a thread gets enough of them.
template <class Body>
void for_each_rows(int threads, std::size_t rows, std::size_t columns, const Body& body) {
    for_each_range(threads, rows, elements_per_thread / std::max<std::size_t>(columns, 1) + 1, 1, body);
}

// The columns of a matrix, cut at cache lines where a thread gets enough of them.
template <class Body>
void for_each_columns(int threads, std::size_t rows, std::size_t columns, const Body& body) {
    for_each_range(threads, columns, elements_per_thread / std::max<std::size_t>(rows, 1) + 1, 16, body);
}

}  // namespace trireme::kernels::cpu
