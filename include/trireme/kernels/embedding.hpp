// Lookup in the tables of token, position and token-type embeddings.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// output[r] = token_table[tokens[r] - first_token] + position_table[positions[r]] + type_table[types[r]].
// A token outside the table (below first_token or beyond its end) contributes zero: another rank holds its row.
struct Embedding {
    device::ConstTensor tokens;               // (rows) i32
    device::ConstTensor positions;            // (rows) i32
    device::ConstTensor token_table;          // (own tokens, channels)
    device::ConstTensor position_table = {};  // (positions, channels), or absent
    device::ConstTensor types = {};           // (rows) i32, absent if type embeddings are not used
    device::ConstTensor type_table = {};      // (types, channels), or absent
    device::Tensor output;                    // (rows, channels)
    std::size_t first_token = 0;              // token of the table's first row
    std::size_t vocabulary = 0;               // number of tokens; 0 if the table holds all of them

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_token_table[tokens[r] - first_token] += grad_output[r], in the order of the rows, for each token that
// the table holds. The tables of positions and types are updated in the same way.
struct EmbeddingBackward {
    device::ConstTensor tokens;               // (rows) i32
    device::ConstTensor positions;            // (rows) i32
    device::ConstTensor grad_output;          // (rows, channels)
    device::Tensor grad_token_table;          // (own tokens, channels)
    device::Tensor grad_position_table = {};  // (positions, channels), or absent
    device::ConstTensor types = {};           // (rows) i32, absent if type embeddings are not used
    device::Tensor grad_type_table = {};      // (types, channels), or absent
    std::size_t first_token = 0;              // token of the table's first row
    std::size_t vocabulary = 0;               // number of tokens; 0 if the table holds all of them

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
