// Reads a config.json: its architecture and the settings that all families share.
#include "trireme/model/config_json.hpp"

#include <algorithm>

#include "model/families/config_fields.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {
namespace {

using Json = nlohmann::json;

// This limit is far above the size of any real config.json; larger files are wrong or malicious.
constexpr std::uintmax_t max_file_bytes = std::uintmax_t{16} << 20;

const Architecture* find_architecture_by_name(std::string_view name) {
    for (const FamilyTraits* family : families)
        for (const Architecture& each : family->architectures)
            if (name == each.name) return &each;
    return nullptr;
}

std::string format_known_architectures() {
    std::string text;
    for (const FamilyTraits* family : families)
        for (const Architecture& each : family->architectures) text += cat(text.empty() ? "" : ", ", each.name);
    return text;
}

// Returns "gpt2, llama, bert and vit".
std::string format_known_families() {
    std::string text;
    for (const FamilyTraits* family : families) {
        const bool is_last = family == std::end(families)[-1];
        text += cat(text.empty() ? "" : is_last ? " and " : ", ", family->name);
    }
    return text;
}

// Returns the first architecture that the file names, or null if it names none. Throws if Trireme does not know
// the name.
const Architecture* find_named_architecture(const ConfigFields& fields) {
    const Json* names = fields.find("architectures");
    if (names == nullptr || (names->is_array() && names->empty())) return nullptr;
    if (!names->is_array() || !names->front().is_string()) {
        fields.reject("architectures", "it must be a list of names");
    }
    const Architecture* found = find_architecture_by_name(names->front().get_ref<const std::string&>());
    if (found == nullptr)
        fields.reject("architectures", cat("Trireme supports ", format_known_architectures()));
    return found;
}

// Returns the architecture that the file names. If the file names none, returns an architecture for a base
// model (a model without a head): the family that model_type names, with the default task of this family.
Architecture read_architecture(const ConfigFields& fields) {
    const Architecture* named_architecture = find_named_architecture(fields);
    const std::string model_type = fields.read_string(
        "model_type", named_architecture == nullptr ? "" : to_string(named_architecture->family));
    if (model_type.empty()) {
        throw ConfigError(cat(fields.source(), " names neither architectures nor a model_type; ",
                              "is it the config.json of a model?"));
    }
    const auto found = std::ranges::find(families, model_type, &FamilyTraits::name);
    if (found == std::end(families))
        fields.reject("model_type", cat("Trireme supports ", format_known_families()));
    const Family family = (*found)->family;
    if (named_architecture == nullptr) {
        return {.name = nullptr, .family = family, .task = list_tasks(family).front(), .has_head = false};
    }
    if (named_architecture->family != family) {
        fields.reject("model_type", cat("the architecture ", named_architecture->name, " has the model_type ",
                                        to_string(named_architecture->family)));
    }
    return *named_architecture;
}

// Returns the number of labels in id2label. If id2label is absent, returns num_labels, whose default is
// `default_count`. If both settings are present, they must agree.
std::size_t read_label_count(const ConfigFields& fields, std::size_t default_count) {
    const std::size_t count = fields.read_size("num_labels", default_count);
    const Json* names = fields.find("id2label");
    if (names == nullptr) return count;
    if (!names->is_object() || names->empty()) fields.reject("id2label", "it must name at least one label");
    if (fields.is_set("num_labels") && count != names->size()) {
        fields.reject("num_labels", cat("id2label names ", format_count(names->size(), "label")));
    }
    return names->size();
}

// Returns the names of labels 0 to `count` - 1. The list is empty if a name is missing, or if all names are the
// default names of Hugging Face's transformers library ("LABEL_0", "LABEL_1" and so on).
std::vector<std::string> read_label_names(const ConfigFields& fields, std::size_t count) {
    const Json* stored_names = fields.find("id2label");
    if (stored_names == nullptr) return {};
    std::vector<std::string> names;
    bool are_all_defaults = true;
    for (std::size_t label = 0; label < count; ++label) {
        const auto name = stored_names->find(std::to_string(label));
        if (name == stored_names->end() || !name->is_string()) return {};
        names.push_back(name->get<std::string>());
        are_all_defaults = are_all_defaults && names.back() == make_default_label_name(label);
    }
    return are_all_defaults ? std::vector<std::string>() : names;
}

// Returns the number of classes. A file without labels means 2 classes for a model with a head (the default of
// transformers). For a base model it means 0: the corpus will determine the number.
std::size_t read_class_count(const ConfigFields& fields, const Architecture& architecture) {
    const std::size_t labels = read_label_count(fields, architecture.has_head ? 2 : 0);
    fields.require_value("problem_type", "single_label_classification");
    if (labels == 1) {
        throw ConfigError(cat(fields.source(),
                              ": the model has 1 label, so it predicts a number, not a class; ",
                              "Trireme needs at least 2 labels"));
    }
    return labels;
}

// Rejects unsupported settings that the transformers library may write for a model of any family.
void reject_unsupported_settings(const ConfigFields& fields) {
    for (const char* key : {"quantization_config", "sliding_window"}) fields.require_value(key, nullptr);
    fields.require_value("is_encoder_decoder", false);
    if (const Json* pruned = fields.find("pruned_heads"); pruned != nullptr && !pruned->empty()) {
        fields.reject("pruned_heads", "Trireme does not support pruned heads");
    }
    const Json* types = fields.find("layer_types");
    if (types == nullptr) return;
    if (!types->is_array()) fields.reject("layer_types", "it must be a list of strings");
    for (const Json& type : *types) {
        if (type != "full_attention") fields.reject("layer_types", "Trireme supports only full_attention");
    }
}

// Throws ConfigError unless check_model() accepts the configuration.
void check_buildable(ModelConfig config, const std::string& source) {
    // If `labels` is 0, the corpus will determine the number. check_model() rejects 0, so `config`, a copy,
    // gets a number that is valid.
    if (config.task == Task::classify && config.labels == 0) config.labels = 2;
    try {
        check_model(config);
    } catch (const ConfigError& error) {
        throw ConfigError(cat(source, " describes a model that cannot be built: ", error.what()));
    }
}

}  // namespace

ModelConfig parse_config_json(std::string_view text, const std::string& source) {
    const Json settings = parse_json<Json>(text, source);
    if (!settings.is_object()) throw ConfigError(cat(source, " is not a JSON object of settings"));
    const ConfigFields fields(settings, source);
    const Architecture architecture = read_architecture(fields);
    reject_unsupported_settings(fields);

    ModelConfig config = find_traits(architecture.family).read_config(fields);
    config.name = to_string(architecture.family);
    config.family = architecture.family;
    config.task = architecture.task;
    config.tied = fields.read_flag("tie_word_embeddings", config.tied);
    config.init_deviation = fields.read_number("initializer_range", 0.02);
    if (config.task == Task::classify) config.labels = read_class_count(fields, architecture);
    // A base model may have been saved with the label names of a removed head. Such names are ignored.
    if (config.task == Task::classify && architecture.has_head) {
        config.label_names = read_label_names(fields, config.labels);
    }
    if (config.task == Task::span && read_label_count(fields, 2) != 2) {
        throw ConfigError(cat(source, ": a question-answering head needs 2 labels, for begin and end, but has ",
                              read_label_count(fields, 2)));
    }
    check_buildable(config, source);
    return config;
}

ModelConfig read_config_json(const std::filesystem::path& file) {
    return parse_config_json(read_regular_file(file, {}, max_file_bytes), file.string());
}

}  // namespace trireme::model
