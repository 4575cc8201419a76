// Tables that rows are looked up in: of tokens, of positions, of token types.
#pragma once

#include "trireme/device/tensor.hpp"
#include "trireme/kernels/launch.hpp"

namespace trireme {

// output[r] = token_table[tokens[r]] + position_table[positions[r]] + type_table[types[r]]
struct Embedding {
    ConstTensor tokens;               // (rows) i32
    ConstTensor positions;            // (rows) i32
    ConstTensor token_table;          // (vocabulary, channels)
    ConstTensor position_table = {};  // (positions, channels), or absent
    ConstTensor types = {};           // (rows) i32, absent with its table
    ConstTensor type_table = {};      // (types, channels), or absent
    Tensor output;                    // (rows, channels)

    void check() const;
    Cost cost() const;
};

// grad_token_table[tokens[r]] += grad_output[r], in the order of the rows; likewise for positions and types
struct EmbeddingBackward {
    ConstTensor tokens;               // (rows) i32
    ConstTensor positions;            // (rows) i32
    ConstTensor grad_output;          // (rows, channels)
    Tensor grad_token_table;          // (vocabulary, channels)
    Tensor grad_position_table = {};  // (positions, channels), or absent
    ConstTensor types = {};           // (rows) i32, absent with its table
    Tensor grad_type_table = {};      // (types, channels), or absent

    void check() const;
    Cost cost() const;
};

void run(ReferenceStream& stream, const Embedding& op);
void run(ReferenceStream& stream, const EmbeddingBackward& op);
void run(CpuStream& stream, const Embedding& op);
void run(CpuStream& stream, const EmbeddingBackward& op);

}  // namespace trireme
