// Tensor cores and asynchronous copies of the emulated GPU, with the fragments of the PTX ISA: lane 4 g + t of
// 32 holds elements (g, 2 t) and (g, 2 t + 1) of an 8 x 8 matrix in one word.
#pragma once

#include <array>

#include "emulated_gpu/thread.hpp"
#include "trireme/device/bf16.hpp"

namespace trireme::kernels::gpu {

// The words of one lane for four 8 x 8 matrices.
struct Matrices {
    unsigned registers[4];
};

inline unsigned pack_word(device::Bf16 low, device::Bf16 high) {
    return low.bits | static_cast<unsigned>(high.bits) << 16;
}
inline float unpack_half(unsigned word, unsigned half) {
    return std::bit_cast<float>(word >> (16 * half) << 16);
}

// ldmatrix.x4: lanes 8 m to 8 m + 7 pass the addresses of the rows of matrix m.
inline Matrices load_matrices(const device::Bf16* row) {
    return emulated::exchange_values(~0U, row, [](auto read_lane) {
        Matrices loaded;
        for (unsigned m = 0; m < 4; ++m) {
            const device::Bf16* const own =
                read_lane(8 * m + emulated::lane() / 4) + 2 * (emulated::lane() % 4);
            loaded.registers[m] = pack_word(own[0], own[1]);
        }
        return loaded;
    });
}

// ldmatrix.x4.trans
inline Matrices load_transposed_matrices(const device::Bf16* row) {
    return emulated::exchange_values(~0U, row, [](auto read_lane) {
        Matrices loaded;
        for (unsigned m = 0; m < 4; ++m) {
            const unsigned first = 8 * m + 2 * (emulated::lane() % 4);
            loaded.registers[m] =
                pack_word(read_lane(first)[emulated::lane() / 4], read_lane(first + 1)[emulated::lane() / 4]);
        }
        return loaded;
    });
}

// mma.m16n8k16: sums (16 x 8) += left (16 x 16) right (16 x 8). A real tensor core adds in another order.
inline void multiply_add(float (&sums)[4], const Matrices& left, unsigned right_low, unsigned right_high) {
    struct Contribution {
        Matrices left;
        unsigned right[2];
    };
    const Contribution own{left, {right_low, right_high}};
    const std::array<float, 4> partial_sums = emulated::exchange_values(~0U, own, [](auto read_lane) {
        std::array<double, 4> found{};
        for (unsigned holder = 0; holder < 4; ++holder) {  // columns 2 holder, 2 holder + 1, and 8 more
            const Matrices rows = read_lane(emulated::lane() / 4 * 4 + holder).left;  // rows g and g + 8
            const Contribution columns[2]{read_lane(emulated::lane() % 4 * 8 + holder),
                                          read_lane(emulated::lane() % 4 * 8 + 4 + holder)};
            for (unsigned k = 0; k < 4; ++k) {
                for (unsigned e = 0; e < 4; ++e) {
                    const float a = unpack_half(rows.registers[e / 2 + k / 2 * 2], k % 2);
                    const float b = unpack_half(columns[e % 2].right[k / 2], k % 2);
                    found[e] += static_cast<double>(a) * static_cast<double>(b);
                }
            }
        }
        std::array<float, 4> rounded{};
        for (unsigned e = 0; e < 4; ++e) rounded[e] = static_cast<float>(found[e]);
        return rounded;
    });
    for (unsigned e = 0; e < 4; ++e) sums[e] += partial_sums[e];
}

inline unsigned pack(float low, float high) { return pack_word(low, high); }
inline float power_of_two(float x) { return std::exp2(x); }

// cp.async: copies `bytes` bytes, or writes zeros if `from` is null. The bytes arrive when their group is
// waited for or, if the thread order is shuffled, at once: a kernel must be correct in both cases.
void copy_async(void* to, const void* from, std::size_t bytes);
void commit_copies();
void wait_for_copies(unsigned pending_groups);  // waits for all but the latest `pending_groups` groups

template <unsigned bytes>
void copy_async(void* to, const void* from, bool reads_source) {
    static_assert(bytes == 8 || bytes == 16);
    copy_async(to, reads_source ? from : nullptr, std::size_t{bytes});
}

template <unsigned pending_groups>
void wait_for_copies() {
    wait_for_copies(pending_groups);
}

}  // namespace trireme::kernels::gpu
