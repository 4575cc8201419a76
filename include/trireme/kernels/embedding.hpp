// Tables that rows are looked up in: of tokens, of positions, of token types.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// output[r] = token_table[tokens[r] - first_token] + position_table[positions[r]] + type_table[types[r]], where
// a token whose row another rank has, below first_token or beyond the table, adds nothing.
struct Embedding {
    device::ConstTensor tokens;               // (rows) i32
    device::ConstTensor positions;            // (rows) i32
    device::ConstTensor token_table;          // (own tokens, channels)
    device::ConstTensor position_table = {};  // (positions, channels), or absent
    device::ConstTensor types = {};           // (rows) i32, absent with its table
    device::ConstTensor type_table = {};      // (types, channels), or absent
    device::Tensor output;                    // (rows, channels)
    std::size_t first_token = 0;              // that the table has
    std::size_t vocabulary = 0;               // tokens are below this number; 0: the table has them all

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_token_table[tokens[r] - first_token] += grad_output[r], in the order of the rows, where the table has
// that token; likewise for positions and types
struct EmbeddingBackward {
    device::ConstTensor tokens;               // (rows) i32
    device::ConstTensor positions;            // (rows) i32
    device::ConstTensor grad_output;          // (rows, channels)
    device::Tensor grad_token_table;          // (own tokens, channels)
    device::Tensor grad_position_table = {};  // (positions, channels), or absent
    device::ConstTensor types = {};           // (rows) i32, absent with its table
    device::Tensor grad_type_table = {};      // (types, channels), or absent
    std::size_t first_token = 0;              // that the table has
    std::size_t vocabulary = 0;               // tokens are below this number; 0: the table has them all

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

void run(device::ReferenceStream& stream, const Embedding& op);
void run(device::ReferenceStream& stream, const EmbeddingBackward& op);
void run(device::CpuStream& stream, const Embedding& op);
void run(device::CpuStream& stream, const EmbeddingBackward& op);
void run(device::CudaStream& stream, const Embedding& op);
void run(device::CudaStream& stream, const EmbeddingBackward& op);

}  // namespace trireme::kernels
