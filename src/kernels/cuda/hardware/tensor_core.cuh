// Tensor-core instructions and asynchronous copies of Ampere and later GPUs. Whole warps execute them. (PTX
// ISA, "Warp-level matrix instructions") An 8 x 8 matrix occupies one word per lane, two numbers per word:
//
//   lane 4 g + t                row g, columns 2 t and 2 t + 1
//   left factor, 16 x 16        four matrices: | 0 2 |        right factor, 16 x 8: two transposed ones, | 0 |
//                                              | 1 3 |                                                   | 1 |
//   sums, 16 x 8                lane 4 g + t: sums 0 and 1 in row g, sums 2 and 3 in row g + 8
#pragma once

#include "trireme/device/bf16.hpp"

namespace trireme::kernels::gpu {

// One lane's words of four 8 x 8 matrices.
struct Matrices {
    unsigned of[4];
};

__device__ inline unsigned shared_place(const void* memory) {
    return static_cast<unsigned>(__cvta_generic_to_shared(memory));
}

// Loads four matrices from shared memory. Lanes 8 m to 8 m + 7 pass the addresses of the rows of matrix m,
// aligned to 16 bytes.
__device__ inline Matrices load_matrices(const device::Bf16* row) {
    Matrices m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m.of[0]), "=r"(m.of[1]), "=r"(m.of[2]), "=r"(m.of[3])
                 : "r"(shared_place(row))
                 : "memory");
    return m;
}

// Like load_matrices(), but transposes each matrix.
__device__ inline Matrices load_transposed_matrices(const device::Bf16* row) {
    Matrices m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m.of[0]), "=r"(m.of[1]), "=r"(m.of[2]), "=r"(m.of[3])
                 : "r"(shared_place(row))
                 : "memory");
    return m;
}

// sums += left right
__device__ inline void multiply_add(float (&sums)[4], const Matrices& left, unsigned right_low,
                                    unsigned right_high) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.of[0]), "r"(left.of[1]), "r"(left.of[2]), "r"(left.of[3]), "r"(right_low), "r"(right_high));
}

// Rounds two numbers to bf16 and packs them into one word.
__device__ inline unsigned pack(float low, float high) {
    unsigned word;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(high), "f"(low));
    return word;
}

__device__ inline float power_of_two(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

// Copies 8 or 16 bytes, with the same alignment, from global to shared memory. Writes zeros and does not read
// `from` if `is_there` is false. The thread sees the data after it has waited for their group, other threads
// after a barrier.
template <unsigned bytes>
__device__ void copy_async(void* to, const void* from, bool is_there) {
    static_assert(bytes == 8 || bytes == 16);
    if constexpr (bytes == 16) {
        asm volatile(
            "{ .reg .pred ignored; setp.eq.u32 ignored, %2, 0;"
            " cp.async.cg.shared.global [%0], [%1], 16, ignored; }" ::"r"(shared_place(to)),
            "l"(from), "r"(unsigned{is_there})
            : "memory");
    } else {
        asm volatile(
            "{ .reg .pred ignored; setp.eq.u32 ignored, %2, 0;"
            " cp.async.ca.shared.global [%0], [%1], 8, ignored; }" ::"r"(shared_place(to)),
            "l"(from), "r"(unsigned{is_there})
            : "memory");
    }
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all groups of copies except the latest `but` groups.
template <unsigned but>
__device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(but) : "memory");
}

}  // namespace trireme::kernels::gpu
