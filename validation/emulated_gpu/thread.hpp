// CUDA's language for the CPU: unchanged kernels, compiled by the same compiler as all other code. The threads
// of a block run in turns, switch wherever they wait for each other, and run in an order that tests shuffle. A
// barrier that some threads do not reach, and a warp operation that names a finished lane, are errors.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <type_traits>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
#define __shared__ static thread_local  // the threads of a block are fibers of one thread

namespace trireme::emulated {

struct Index {
    unsigned x = 0;
    unsigned y = 0;
    unsigned z = 0;
};

// Indices and sizes of the current thread.
struct MemorySpace {
    Index thread, block, block_size{1, 1, 1}, grid_size{1, 1, 1};
};
const MemorySpace& place();

inline constexpr unsigned warp_size = 32;
unsigned lane();

// These return when all threads of the block, or all lanes of the warp in the mask `lanes`, have arrived.
void wait_for_block();
void wait_for_warp(unsigned lanes);

std::byte* shared_memory();  // shared memory of the block, with the size set at launch

// A lane offers a value and waits for its warp. Afterwards it can read the values of the lanes that waited with
// it.
inline constexpr std::size_t max_value_bytes = 256;
void offer_value(const void* content, std::size_t bytes);
const std::byte* value_of_lane(unsigned lane);

// Every lane of `lanes` contributes `value` and receives the result of `use(read_lane)`, where read_lane(lane)
// is the value of that lane.
template <class T, class Use>
auto exchange_values(unsigned lanes, const T& value, Use&& use) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= max_value_bytes);
    offer_value(&value, sizeof value);
    wait_for_warp(lanes);
    return use([](unsigned of) {
        T value_of_other;
        std::memcpy(&value_of_other, value_of_lane(of), sizeof value_of_other);
        return value_of_other;
    });
}

// Runs `thread` for every thread of every block.
void run_grid(const Index& blocks, const Index& threads, std::size_t shared_bytes,
              const std::function<void()>& thread);

}  // namespace trireme::emulated

#define threadIdx (trireme::emulated::place().thread)
#define blockIdx (trireme::emulated::place().block)
#define blockDim (trireme::emulated::place().block_size)
#define gridDim (trireme::emulated::place().grid_size)

inline void __syncthreads() { trireme::emulated::wait_for_block(); }
inline void __syncwarp(unsigned lanes = 0xFFFFFFFFU) { trireme::emulated::wait_for_warp(lanes); }

template <class T>
T __shfl_sync(unsigned lanes, T value, int source, int width = 32) {
    const unsigned first =
        trireme::emulated::lane() / static_cast<unsigned>(width) * static_cast<unsigned>(width);
    const unsigned from = first + static_cast<unsigned>(source) % static_cast<unsigned>(width);
    return trireme::emulated::exchange_values(lanes, value, [&](auto read_lane) { return read_lane(from); });
}

template <class T>
T __shfl_xor_sync(unsigned lanes, T value, int mask) {
    const unsigned from = trireme::emulated::lane() ^ static_cast<unsigned>(mask);
    return trireme::emulated::exchange_values(lanes, value, [&](auto read_lane) { return read_lane(from); });
}

template <class T>
T __shfl_down_sync(unsigned lanes, T value, unsigned distance) {
    const unsigned from = std::min(trireme::emulated::lane() + distance, 31U);
    return trireme::emulated::exchange_values(lanes, value, [&](auto read_lane) { return read_lane(from); });
}

inline unsigned __ballot_sync(unsigned lanes, bool holds) {
    return trireme::emulated::exchange_values(lanes, holds, [&](auto read_lane) {
        unsigned votes = 0;
        for (unsigned l = 0; l < 32; ++l)
            if ((lanes >> l & 1U) != 0 && read_lane(l)) votes |= 1U << l;
        return votes;
    });
}

inline float __expf(float x) { return std::exp(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline float rsqrt(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline double normcdf(double x) {
    return static_cast<double>(std::erfc(-static_cast<long double>(x) * std::sqrt(0.5L)) / 2);
}
inline float normcdf(float x) { return static_cast<float>(normcdf(static_cast<double>(x))); }
inline double __dmul_rn(double a, double b) { return a * b; }
inline float fmaxf(float a, float b) { return std::fmax(a, b); }
inline unsigned __umulhi(unsigned a, unsigned b) {
    return static_cast<unsigned>(static_cast<std::uint64_t>(a) * b >> 32);
}

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
