// The model families: what distinguishes each of them. All are configurations of one block, which has an
// attention half and an MLP half.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"

namespace trireme::model {

class ConfigFields;     // of a config.json that is read
struct ConfigSettings;  // of one that is written

// A class of models in Hugging Face's transformers.
struct Architecture {
    const char* name;  // "BertForMaskedLM"
    Family family;
    Task task;
    bool has_head;  // false: a base model, which several tasks share
};

// The names of the parameters in a block, in Hugging Face's implementation.
struct BlockNames {
    std::string_view prefix;  // "transformer.h."
    std::string_view attention_norm;
    std::span<const std::string_view> attention_in;  // one fused matrix, or queries, keys and values
    std::string_view attention_out;
    std::string_view mlp_norm;
    std::span<const std::string_view> mlp_in;  // one matrix, or gate and values
    std::string_view mlp_out;
};

struct FamilyTraits {
    Family family;
    const char* name;  // as in model_type
    // The first has the family's own task. Files name the first architecture with a head for their task.
    std::span<const Architecture> architectures;

    // Parameters. An empty name: the family has no such parameter.
    BlockNames block;
    std::string_view token_table;
    std::string_view position_table;
    std::string_view final_norm;
    std::string_view vocabulary_head;  // of an untied model
    kernels::WeightAxes axes = kernels::WeightAxes::out_in;
    bool has_bias = true;
    bool has_post_norm = false;  // the norms follow the halves of a block
    // Two branches of each block add to the residual. Their last matrices start smaller, so that the sum of all
    // does not grow with depth. (Radford et al., 2019, section 2.3)
    bool scales_last_matrices = false;
    std::string_view token_type_table = {};
    std::string_view embedding_norm = {};
    std::span<const std::string_view> computed = {};  // ends of the names of tensors that are no parameters

    bool is_causal = false;
    bool reads_images = false;
    bool has_rotary_positions = false;
    bool has_rms_norm = false;
    bool has_head_transform = false;  // a layer before the head
    bool shares_keys = false;         // several heads may share one key and value

    // Reads sizes, activation, dropout, norms and positions, and whether the head is tied if the file does not
    // say it. Absent settings have the defaults of transformers. Throws ConfigError for settings with which the
    // model would compute something else.
    ModelConfig (*read)(const ConfigFields& fields);
    void (*write)(const ModelConfig& config, ConfigSettings& file);
    std::vector<ModelConfig> (*models)();  // those known by name
};

// Each is defined in a file of its own.
extern const FamilyTraits gpt2_family;
extern const FamilyTraits llama_family;
extern const FamilyTraits bert_family;
extern const FamilyTraits vit_family;

inline constexpr const FamilyTraits* families[] = {&gpt2_family, &llama_family, &bert_family, &vit_family};

const FamilyTraits& traits_of(Family family);

}  // namespace trireme::model
