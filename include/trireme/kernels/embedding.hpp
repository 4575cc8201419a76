// Lookup in the tables of token, position and token-type embeddings.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme::kernels {

// output[r] = token_table[tokens[r] - first_token] + position_table[positions[r]] + type_table[types[r]]. The
// terms of absent tables are omitted. A token that is not in the rank's token table contributes zero: another
// rank of the tensor group holds its row.
struct Embedding {
    device::ConstTensor tokens;               // (rows) i32
    device::ConstTensor positions;            // (rows) i32
    device::ConstTensor token_table;          // (tokens of this rank, channels)
    device::ConstTensor position_table = {};  // (positions, channels), or absent
    device::ConstTensor types = {};           // (rows) i32, absent if type embeddings are not used
    device::ConstTensor type_table = {};      // (types, channels), or absent
    device::Tensor output;                    // (rows, channels)
    std::size_t first_token = 0;              // token whose embedding is row 0 of the token table
    std::size_t vocabulary = 0;               // size of the vocabulary; 0 if the token table holds all of it

    void check() const;
    device::Cost cost() const;
    NamedTensors tensors() const;
};

// grad_token_table[tokens[r] - first_token] += grad_output[r], in the order of the rows, for each token that
// the token table holds. The gradients of the position and type tables are accumulated in the same way.
struct EmbeddingBackward {
    device::ConstTensor tokens;               // (rows) i32
    device::ConstTensor positions;            // (rows) i32
    device::ConstTensor grad_output;          // (rows, channels)
    device::Tensor grad_token_table;          // (tokens of this rank, channels)
    device::Tensor grad_position_table = {};  // (positions, channels), or absent
    device::ConstTensor types = {};           // (rows) i32, absent if type embeddings are not used
    device::Tensor grad_type_table = {};      // (types, channels), or absent
    std::size_t first_token = 0;              // token whose embedding is row 0 of the token table
    std::size_t vocabulary = 0;               // size of the vocabulary; 0 if the token table holds all of it

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
