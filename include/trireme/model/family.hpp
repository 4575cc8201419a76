// The model families and their traits. In all families a block consists of an attention half and an MLP half.
// The traits of a family configure both halves.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "trireme/kernels/linear.hpp"
#include "trireme/model/config.hpp"

namespace trireme::model {

class ConfigFields;     // settings read from a config.json
struct ConfigSettings;  // settings to be written to a config.json

// A model class of Hugging Face's transformers.
struct Architecture {
    const char* name;  // for example "BertForMaskedLM"
    Family family;
    Task task;      // task of the head; for a base model, the family's default task
    bool has_head;  // false for a base model, to which a head of any task of the family can be added
};

// Names of the parameters of a block in Hugging Face's files, without ".weight" or ".bias". A full name is
// PREFIX NUMBER "." NAME, where PREFIX is `prefix`, NUMBER is the number of the block, and NAME is one of the
// other members.
struct BlockNames {
    std::string_view prefix;  // for example "transformer.h."
    std::string_view attention_norm;
    std::span<const std::string_view> attention_in;  // one fused matrix, or three: queries, keys, values
    std::string_view attention_out;
    std::string_view mlp_norm;
    std::span<const std::string_view> mlp_in;  // one matrix, or two: gate projection, up projection
    std::string_view mlp_out;
};

struct FamilyTraits {
    Family family;
    const char* name;  // model_type in a config.json
    // The first architecture has the family's default task. A written config.json names the first architecture
    // that has the model's task.
    std::span<const Architecture> architectures;

    // Names of parameters; empty if the family has no such parameter. Names of norms lack ".weight" and
    // ".bias".
    BlockNames block;
    std::string_view token_table;
    std::string_view position_table;
    std::string_view final_norm;
    std::string_view vocabulary_head;                        // untied models only
    kernels::WeightAxes axes = kernels::WeightAxes::out_in;  // axis order of the matrices in blocks
    bool has_bias = true;                                    // the matrices in blocks have biases
    bool has_post_norm = false;  // the norms follow the residual additions instead of preceding the branches
    // True if the initial weights of each branch's last matrix are divided by sqrt(N), where N is the number of
    // branches (two per block). The residual is the sum of the N branches; the divisor keeps this sum from
    // growing with depth. (Radford et al., 2019, section 2.3)
    bool scales_last_matrices = false;
    std::string_view token_type_table = {};
    std::string_view embedding_norm = {};
    // Suffixes of names. A stored tensor whose name has one of these suffixes is no parameter: the model
    // computes its values.
    std::span<const std::string_view> computed_tensors = {};

    bool is_causal = false;
    bool reads_images = false;
    bool has_rotary_positions = false;
    bool has_rms_norm = false;
    bool has_head_transform = false;  // see HeadTransform
    bool may_share_keys = false;      // grouped-query attention: several heads may share one key and value

    // Reads sizes, activation, dropout, norms and positions; sets `tied` to the family's default. Absent
    // settings have the defaults of Hugging Face's transformers. Throws ConfigError if the width is absent, or
    // if a setting is invalid or requires a computation that Trireme does not support.
    ModelConfig (*read_config)(const ConfigFields& fields);
    // Writes the settings that read_config() reads, except for those that to_config_json() writes for all
    // families.
    void (*write_config)(const ModelConfig& config, ConfigSettings& settings);
    std::vector<ModelConfig> (*list_models)();  // returns the named models of the family
};

// Each family is defined in a source file of its own.
extern const FamilyTraits gpt2_family;
extern const FamilyTraits llama_family;
extern const FamilyTraits bert_family;
extern const FamilyTraits vit_family;

inline constexpr const FamilyTraits* families[] = {&gpt2_family, &llama_family, &bert_family, &vit_family};

const FamilyTraits& find_traits(Family family);

}  // namespace trireme::model
