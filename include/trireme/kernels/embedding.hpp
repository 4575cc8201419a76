// Tables that rows are looked up in: of tokens, of positions, of token types.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// output[r] = token_table[tokens[r] - first_token] + position_table[positions[r]] + type_table[types[r]], where
// a token whose row another rank has, below first_token or beyond the table, adds nothing.
struct Embedding {
    ConstTensor tokens;               // (rows) i32
    ConstTensor positions;            // (rows) i32
    ConstTensor token_table;          // (own tokens, channels)
    ConstTensor position_table = {};  // (positions, channels), or absent
    ConstTensor types = {};           // (rows) i32, absent with its table
    ConstTensor type_table = {};      // (types, channels), or absent
    Tensor output;                    // (rows, channels)
    std::size_t first_token = 0;      // that the table has
    std::size_t vocabulary = 0;       // tokens are below this number; 0: the table has them all

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

// grad_token_table[tokens[r] - first_token] += grad_output[r], in the order of the rows, where the table has
// that token; likewise for positions and types
struct EmbeddingBackward {
    ConstTensor tokens;               // (rows) i32
    ConstTensor positions;            // (rows) i32
    ConstTensor grad_output;          // (rows, channels)
    Tensor grad_token_table;          // (own tokens, channels)
    Tensor grad_position_table = {};  // (positions, channels), or absent
    ConstTensor types = {};           // (rows) i32, absent with its table
    Tensor grad_type_table = {};      // (types, channels), or absent
    std::size_t first_token = 0;      // that the table has
    std::size_t vocabulary = 0;       // tokens are below this number; 0: the table has them all

    void check() const;
    Cost cost() const;
    NamedTensors tensors() const;
};

void run(ReferenceStream& stream, const Embedding& op);
void run(ReferenceStream& stream, const EmbeddingBackward& op);
void run(CpuStream& stream, const Embedding& op);
void run(CpuStream& stream, const EmbeddingBackward& op);
void run(CudaStream& stream, const Embedding& op);
void run(CudaStream& stream, const EmbeddingBackward& op);

}  // namespace trireme
