// Divides work among the threads of a stream. The number of threads never changes a result: each element
// is computed by a single thread, in an order that does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme::kernels::cpu {

// With fewer elements per thread, starting another thread costs more time than it saves.
inline constexpr std::size_t min_elements_per_thread = 32768;

// Returns the number of threads that share `count` items, from 1 to `threads`. Two or more threads have at
// least `grain` items per thread.
inline std::size_t choose_thread_count(int threads, std::size_t count, std::size_t grain) {
    return std::clamp<std::size_t>(count / std::max<std::size_t>(grain, 1), 1,
                                   static_cast<std::size_t>(threads));
}

// Calls body(thread) on `threads_used` threads, with the index of the thread.
template <class Body>
void run_on_threads(std::size_t threads_used, const Body& body) {
    if (threads_used == 1) return body(std::size_t{0});
#pragma omp parallel for num_threads(static_cast <int>(threads_used)) schedule(static, 1)
    for (std::size_t thread = 0; thread < threads_used; ++thread) body(thread);
}

// Calls body(begin, end) in parallel for ranges that cover [0, count) and begin at multiples of `step`. Uses at
// most `threads` threads. Two or more threads have about `grain` items per thread, or more.
template <class Body>
void for_each_range(int threads, std::size_t count, std::size_t grain, std::size_t step, const Body& body) {
    const std::size_t threads_used = choose_thread_count(threads, count, grain);
    const std::size_t steps = (count + step - 1) / step;
    run_on_threads(threads_used, [&](std::size_t thread) {
        const std::size_t begin = std::min(count, steps * thread / threads_used * step);
        const std::size_t end = std::min(count, steps * (thread + 1) / threads_used * step);
        if (begin < end) body(begin, end);
    });
}

// Calls body(begin, end) in parallel for ranges of the rows of a matrix.
template <class Body>
void for_each_rows(int threads, std::size_t rows, std::size_t columns, const Body& body) {
    for_each_range(threads, rows, min_elements_per_thread / std::max<std::size_t>(columns, 1) + 1, 1, body);
}

// Calls body(begin, end) in parallel for ranges of the columns of a matrix. Each range begins at a multiple of
// 16. A cache line holds 16 floats, so two threads rarely write to the same line.
template <class Body>
void for_each_columns(int threads, std::size_t rows, std::size_t columns, const Body& body) {
    for_each_range(threads, columns, min_elements_per_thread / std::max<std::size_t>(rows, 1) + 1, 16, body);
}

}  // namespace trireme::kernels::cpu
