// The model families and their traits. The blocks of all families consist of an attention half and an MLP half,
// which the traits configure.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"

namespace trireme::model {

class ConfigFields;     // settings read from a config.json
struct ConfigSettings;  // settings to be written to a config.json

// A class of models in Hugging Face's transformers.
struct Architecture {
    const char* name;  // "BertForMaskedLM"
    Family family;
    Task task;
    bool has_head;  // false for a base model, which several tasks can extend by a head
};

// Names of the parameters of a block in Hugging Face's files, without ".weight" or ".bias".
struct BlockNames {
    std::string_view prefix;  // "transformer.h.", before the number of the block
    std::string_view attention_norm;
    std::span<const std::string_view> attention_in;  // one fused matrix, or those of queries, keys and values
    std::string_view attention_out;
    std::string_view mlp_norm;
    std::span<const std::string_view> mlp_in;  // one matrix, or those of gate and up projection
    std::string_view mlp_out;
};

struct FamilyTraits {
    Family family;
    const char* name;  // model_type in a config.json
    // The first architecture has the family's default task. A written config.json names the first architecture
    // with the model's task.
    std::span<const Architecture> architectures;

    // Names of parameters; empty if the family has no such parameter. Names of norms lack ".weight" and
    // ".bias".
    BlockNames block;
    std::string_view token_table;
    std::string_view position_table;
    std::string_view final_norm;
    std::string_view vocabulary_head;                        // untied models only
    kernels::WeightAxes axes = kernels::WeightAxes::out_in;  // axis order of the matrices in blocks
    bool has_bias = true;
    bool has_post_norm = false;  // the norms follow the residual additions instead of preceding the branches
    // True if the initial values of the last matrix of each branch are divided by sqrt(2 * layers). The
    // residual is the sum of 2 * layers branches; the divisor keeps this sum from growing with depth. (Radford
    // et al., 2019, section 2.3)
    bool scales_last_matrices = false;
    std::string_view token_type_table = {};
    std::string_view embedding_norm = {};
    // Suffixes of the names of stored tensors that are not parameters, because the model computes them.
    std::span<const std::string_view> computed_tensors = {};

    bool is_causal = false;
    bool reads_images = false;
    bool has_rotary_positions = false;
    bool has_rms_norm = false;
    bool has_head_transform = false;  // see HeadTransform
    bool may_share_keys = false;      // grouped-query attention: several heads may share one key and value

    // Reads sizes, activation, dropout, norms and positions; sets the family's default for `tied`. Absent
    // settings have the defaults of Hugging Face's transformers. Throws ConfigError for settings that require a
    // computation that Trireme does not support.
    ModelConfig (*read_config)(const ConfigFields& fields);
    // Writes these settings, except for those that to_config_json() writes for all families.
    void (*write_config)(const ModelConfig& config, ConfigSettings& settings);
    std::vector<ModelConfig> (*list_models)();  // named models
};

// Each family is defined in a source file of its own.
extern const FamilyTraits gpt2_family;
extern const FamilyTraits llama_family;
extern const FamilyTraits bert_family;
extern const FamilyTraits vit_family;

inline constexpr const FamilyTraits* families[] = {&gpt2_family, &llama_family, &bert_family, &vit_family};

const FamilyTraits& find_traits(Family family);

}  // namespace trireme::model
