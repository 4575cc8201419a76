// Tensor-core instructions and asynchronous copies of Ampere and later GPUs. All lanes of a warp execute
// a tensor-core instruction together (PTX ISA, "Warp-level matrix instructions"). An 8 x 8 matrix of bf16
// occupies one 32-bit register per lane, with two elements per register. With g < 8 and t < 4:
//
//   matrix, 8 x 8               lane 4 g + t: row g, columns 2 t and 2 t + 1
//   left factor, 16 x 16        four matrices, in registers 0 to 3:         | 0 2 |
//                                                                           | 1 3 |
//   right factor, 16 x 8        two transposed matrices, in two registers:  | 0 |
//                                                                           | 1 |
//   sums, 16 x 8                lane 4 g + t: sums 0 and 1 in row g, sums 2 and 3 in row g + 8, in the columns
//                               2 t and 2 t + 1
#pragma once

#include "trireme/device/bf16.hpp"

namespace trireme::kernels::gpu {

// The registers of one lane that hold its elements of four 8 x 8 matrices.
struct Matrices {
    unsigned registers[4];
};

__device__ inline unsigned shared_address(const void* memory) {
    return static_cast<unsigned>(__cvta_generic_to_shared(memory));
}

// Loads four matrices from shared memory. Lanes 8 m to 8 m + 7 pass the addresses of the rows of matrix m,
// aligned to 16 bytes.
__device__ inline Matrices load_matrices(const device::Bf16* row) {
    Matrices m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m.registers[0]), "=r"(m.registers[1]), "=r"(m.registers[2]), "=r"(m.registers[3])
                 : "r"(shared_address(row))
                 : "memory");
    return m;
}

// Like load_matrices(), but transposes each matrix.
__device__ inline Matrices load_transposed_matrices(const device::Bf16* row) {
    Matrices m;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(m.registers[0]), "=r"(m.registers[1]), "=r"(m.registers[2]), "=r"(m.registers[3])
                 : "r"(shared_address(row))
                 : "memory");
    return m;
}

// sums += left right
__device__ inline void multiply_add(float (&sums)[4], const Matrices& left, unsigned right_low,
                                    unsigned right_high) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(left.registers[0]), "r"(left.registers[1]), "r"(left.registers[2]), "r"(left.registers[3]),
          "r"(right_low), "r"(right_high));
}

// Rounds two numbers to bf16 and packs them into 32 bits.
__device__ inline unsigned pack(float low, float high) {
    unsigned packed_pair;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(packed_pair) : "f"(high), "f"(low));
    return packed_pair;
}

// Returns an approximation of 2^x.
__device__ inline float power_of_two(float x) {
    float power;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(power) : "f"(x));
    return power;
}

// Starts an asynchronous copy of `bytes` bytes (8 or 16) from global to shared memory. Both addresses are
// multiples of `bytes`. If `reads_source` is false, writes zeros instead and does not read `from`. The copy
// belongs to the group that the next commit_copies() ends. The thread sees the data after it has waited for
// this group; other threads see the data after a barrier that follows this wait.
template <unsigned bytes>
__device__ void copy_async(void* to, const void* from, bool reads_source) {
    static_assert(bytes == 8 || bytes == 16);
    if constexpr (bytes == 16) {
        asm volatile(
            "{ .reg .pred ignore_source; setp.eq.u32 ignore_source, %2, 0;"
            " cp.async.cg.shared.global [%0], [%1], 16, ignore_source; }" ::"r"(shared_address(to)),
            "l"(from), "r"(unsigned{reads_source})
            : "memory");
    } else {
        asm volatile(
            "{ .reg .pred ignore_source; setp.eq.u32 ignore_source, %2, 0;"
            " cp.async.ca.shared.global [%0], [%1], 8, ignore_source; }" ::"r"(shared_address(to)),
            "l"(from), "r"(unsigned{reads_source})
            : "memory");
    }
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits for all groups of copies of this thread except the latest `pending_groups` groups.
template <unsigned pending_groups>
__device__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending_groups) : "memory");
}

}  // namespace trireme::kernels::gpu
