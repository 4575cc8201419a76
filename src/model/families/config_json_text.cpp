// Writing a config.json, in the words of transformers before and since its fifth version.
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/families/architectures.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme {
namespace {

using Json = nlohmann::json;

void add_sizes(const ModelConfig& config, Json& file) {
    file["num_hidden_layers"] = config.layers;
    file["hidden_size"] = config.width;
    file["num_attention_heads"] = config.heads;
    file["intermediate_size"] = config.mlp_width;
}

// The tokens around a text, where the vocabulary is one that is known to have them: otherwise transformers
// would take its defaults, which are other tokens or none.
void add_text_ends(const ModelConfig& config, Json& file) {
    struct Ends {
        Family family;
        std::size_t vocabulary;
        std::uint32_t begin, end;
    };
    constexpr Ends known[] = {{Family::gpt2, 50257, 50256, 50256},
                              {Family::llama, 32000, 1, 2},
                              {Family::llama, 128256, 128000, 128001}};
    file["bos_token_id"] = nullptr;
    file["eos_token_id"] = nullptr;
    for (const Ends& ends : known) {
        if (ends.family != config.family || ends.vocabulary != config.vocabulary) continue;
        file["bos_token_id"] = ends.begin;
        file["eos_token_id"] = ends.end;
    }
}

void add_gpt2(const ModelConfig& config, Json& file) {
    file["n_layer"] = config.layers;
    file["n_embd"] = config.width;
    file["n_head"] = config.heads;
    file["n_inner"] = config.mlp_width;
    file["n_positions"] = config.positions;
    file["activation_function"] = name_of(config.activation);
    file["resid_pdrop"] = config.dropout;
    file["embd_pdrop"] = config.dropout;
    file["attn_pdrop"] = config.attention_dropout;
    file["layer_norm_epsilon"] = config.norm_epsilon;
    add_text_ends(config, file);
}

// A whole number where it is one: transformers asks for it.
Json positions_of(double count) {
    if (count != std::floor(count) || count > 1e15) return count;
    return static_cast<std::uint64_t>(count);
}

Json stretch_of(const RotaryConfig& rotary) {
    switch (rotary.stretch) {
        case RotaryConfig::Stretch::none:
            return {{"rope_type", "default"}};
        case RotaryConfig::Stretch::linear:
            return {{"rope_type", "linear"}, {"factor", rotary.factor}};
        case RotaryConfig::Stretch::llama3:
            return {{"rope_type", "llama3"},
                    {"factor", rotary.factor},
                    {"low_freq_factor", rotary.low_frequency},
                    {"high_freq_factor", rotary.high_frequency},
                    {"original_max_position_embeddings", positions_of(rotary.original_positions)}};
    }
    throw BugError("unknown stretch of rotary positions");
}

void add_rotary(const RotaryConfig& rotary, Json& file) {
    Json parameters = stretch_of(rotary);
    file["rope_scaling"] = rotary.stretch == RotaryConfig::Stretch::none ? Json() : parameters;
    parameters["rope_theta"] = rotary.base;
    file["rope_theta"] = rotary.base;
    file["rope_parameters"] = std::move(parameters);
}

void add_llama(const ModelConfig& config, Json& file) {
    add_sizes(config, file);
    file["num_key_value_heads"] = config.key_groups();
    file["head_dim"] = config.head_size();
    file["max_position_embeddings"] = config.positions;
    file["hidden_act"] = "silu";
    file["attention_bias"] = false;
    file["mlp_bias"] = false;
    file["attention_dropout"] = config.attention_dropout;
    file["rms_norm_eps"] = config.norm_epsilon;
    add_rotary(config.rotary, file);
    add_text_ends(config, file);
}

// BERT's words, which the ViT took over.
void add_bert_like(const ModelConfig& config, Json& file) {
    add_sizes(config, file);
    file["hidden_act"] = name_of(config.activation);
    file["hidden_dropout_prob"] = config.dropout;
    file["attention_probs_dropout_prob"] = config.attention_dropout;
    file["layer_norm_eps"] = config.norm_epsilon;
}

void add_bert(const ModelConfig& config, Json& file) {
    add_bert_like(config, file);
    file["max_position_embeddings"] = config.positions;
    file["type_vocab_size"] = config.token_types;
}

void add_vit(const ModelConfig& config, Json& file) {
    add_bert_like(config, file);
    file["image_size"] = config.image.size;
    file["patch_size"] = config.image.patch;
    file["num_channels"] = config.image.channels;
    file["qkv_bias"] = true;
}

void add_family(const ModelConfig& config, Json& file) {
    switch (config.family) {
        case Family::gpt2:
            return add_gpt2(config, file);
        case Family::llama:
            return add_llama(config, file);
        case Family::bert:
            return add_bert(config, file);
        case Family::vit:
            return add_vit(config, file);
    }
    throw BugError("unknown family");
}

// transformers counts the classes by their names.
void add_labels(const ModelConfig& config, Json& file) {
    Json names = Json::object();
    Json numbers = Json::object();
    for (std::size_t label = 0; label < config.labels; ++label) {
        const std::string name =
            config.label_names.empty() ? unnamed_label(label) : config.label_names.at(label);
        names[std::to_string(label)] = name;
        numbers[name] = label;
    }
    file["id2label"] = std::move(names);
    file["label2id"] = std::move(numbers);
}

// Whether the base knows better: tokens around a text, which ours may not know, and names of as many classes.
bool keeps(const Json& base, const std::string& name, const Json& value) {
    const auto old = base.find(name);
    if (old == base.end() || old->is_null()) return false;
    const bool names_classes = name == "id2label" || name == "label2id";
    return value.is_null() || (names_classes && old->size() == value.size());
}

}  // namespace

std::string config_json_of(const ModelConfig& config, const std::string& dtype, const std::string& base) {
    Json file = Json::object();
    file["architectures"] = Json::array({architecture_of(config.family, config.task)});
    file["model_type"] = name_of(config.family);
    file["dtype"] = dtype;
    file["torch_dtype"] = dtype;
    file["initializer_range"] = config.init_deviation;
    add_family(config, file);
    if (!config.reads_images()) {
        file["vocab_size"] = config.vocabulary;
        file["tie_word_embeddings"] = config.tied;
    }
    if (config.task == Task::classify && config.labels > 0) add_labels(config, file);
    Json whole = try_parse_json<Json>(base, "the model's earlier config.json").value_or(Json::object());
    if (!whole.is_object()) whole = Json::object();
    whole.erase("num_labels");  // the names of the classes say how many there are
    if (!config.label_names.empty()) {
        whole.erase("id2label");
        whole.erase("label2id");
    }
    for (const auto& [name, value] : file.items())
        if (!keeps(whole, name, value)) whole[name] = value;
    return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trireme
