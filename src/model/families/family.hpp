// How Hugging Face's implementations of the families name their parameters and lay them out.
#pragma once

#include <string>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"

namespace trireme {

// Names within a block; what is written side by side by one matrix or several.
struct BlockNames {
    std::string prefix;  // "transformer.h."
    std::string attention_norm;
    std::vector<std::string> attention_in;  // one fused matrix, or queries, keys and values
    std::string attention_out;
    std::string mlp_norm;
    std::vector<std::string> mlp_in;  // one matrix, or gate and values
    std::string mlp_out;
};

struct FamilyTraits {
    BlockNames block;
    std::string token_table;
    std::string position_table;   // empty: positions are rotary
    std::string final_norm;       // empty: none
    std::string vocabulary_head;  // of an untied model
    WeightAxes axes = WeightAxes::out_in;
    bool has_bias = true;
    bool is_norm_behind = false;
    // Two branches of each block add to the residual: their last matrices start smaller, so that the sum of all
    // does not grow with depth. (Radford et al., 2019, section 2.3)
    bool has_small_last = false;
};

FamilyTraits traits_of(Family family);

}  // namespace trireme
