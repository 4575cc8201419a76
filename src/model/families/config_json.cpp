// Reads a config.json: its architecture and the settings that all families share.
#include "trireme/model/config_json.hpp"

#include <algorithm>

#include "model/families/config_fields.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {
namespace {

using Json = nlohmann::json;

// Far above the size of any real config.json; rejects wrong or malicious files.
constexpr std::uintmax_t most_bytes = std::uintmax_t{16} << 20;

const Architecture* architecture_named(std::string_view name) {
    for (const FamilyTraits* family : families)
        for (const Architecture& each : family->architectures)
            if (name == each.name) return &each;
    return nullptr;
}

std::string known_architectures() {
    std::string text;
    for (const FamilyTraits* family : families)
        for (const Architecture& each : family->architectures) text += cat(text.empty() ? "" : ", ", each.name);
    return text;
}

// "gpt2, llama, bert and vit"
std::string known_families() {
    std::string text;
    for (const FamilyTraits* family : families) {
        const bool is_last = family == std::end(families)[-1];
        text += cat(text.empty() ? "" : is_last ? " and " : ", ", family->name);
    }
    return text;
}

// Returns the architecture that the file names, or null if it names none.
const Architecture* said_architecture(const ConfigFields& fields) {
    const Json* names = fields.find("architectures");
    if (names == nullptr || (names->is_array() && names->empty())) return nullptr;
    if (!names->is_array() || !names->front().is_string()) {
        fields.refuse("architectures", "it must be a list of names");
    }
    const Architecture* found = architecture_named(names->front().get_ref<const std::string&>());
    if (found == nullptr) fields.refuse("architectures", cat("Trireme knows ", known_architectures()));
    return found;
}

// Returns the architecture. If the file has only a model type, the task is the family's default.
Architecture architecture_in(const ConfigFields& fields) {
    const Architecture* said = said_architecture(fields);
    const std::string type = fields.word("model_type", said == nullptr ? "" : name_of(said->family));
    if (type.empty()) {
        throw ConfigError(cat(fields.place(), " names neither architectures nor a model_type; ",
                              "is it the config.json of a model?"));
    }
    const auto found = std::ranges::find(families, type, &FamilyTraits::name);
    if (found == std::end(families)) fields.refuse("model_type", cat("Trireme knows ", known_families()));
    const Family family = (*found)->family;
    if (said == nullptr) {
        return {.name = nullptr, .family = family, .task = tasks_of(family).front(), .has_head = false};
    }
    if (said->family != family) {
        fields.refuse("model_type", cat("a ", said->name, " is of type ", name_of(said->family)));
    }
    return *said;
}

std::size_t labels_in(const ConfigFields& fields, std::size_t otherwise) {
    const std::size_t count = fields.size("num_labels", otherwise);
    const Json* names = fields.find("id2label");
    if (names == nullptr) return count;
    if (!names->is_object() || names->empty()) fields.refuse("id2label", "it must name at least one label");
    if (fields.is_set("num_labels") && count != names->size()) {
        fields.refuse("num_labels", cat("id2label names ", names->size()));
    }
    return names->size();
}

// Returns the names of the labels 0 to `count` - 1. Empty if one is missing, or if all are the default names of
// transformers.
std::vector<std::string> label_names_in(const ConfigFields& fields, std::size_t count) {
    const Json* stored = fields.find("id2label");
    if (stored == nullptr) return {};
    std::vector<std::string> names;
    bool is_made_up = true;
    for (std::size_t label = 0; label < count; ++label) {
        const auto name = stored->find(std::to_string(label));
        if (name == stored->end() || !name->is_string()) return {};
        names.push_back(name->get<std::string>());
        is_made_up = is_made_up && names.back() == unnamed_label(label);
    }
    return is_made_up ? std::vector<std::string>() : names;
}

// For a base model without a head the corpus decides the number of labels, so the default is 0.
std::size_t classes_in(const ConfigFields& fields, const Architecture& architecture) {
    const std::size_t labels = labels_in(fields, architecture.has_head ? 2 : 0);
    fields.require("problem_type", "single_label_classification");
    if (labels == 1) {
        throw ConfigError(cat(fields.place(), ": it has 1 label, which asks for a number in place of a class; ",
                              "Trireme tells at least 2 classes apart"));
    }
    return labels;
}

// Rejects unsupported settings that transformers may write for a model of any family.
void refuse_what_none_has(const ConfigFields& fields) {
    for (const char* key : {"quantization_config", "sliding_window"}) fields.require(key, nullptr);
    fields.require("is_encoder_decoder", false);
    if (const Json* pruned = fields.find("pruned_heads"); pruned != nullptr && !pruned->empty()) {
        fields.refuse("pruned_heads", "Trireme's layers have all their heads");
    }
    const Json* types = fields.find("layer_types");
    if (types == nullptr) return;
    if (!types->is_array()) fields.refuse("layer_types", "it must be a list of words");
    for (const Json& type : *types) {
        if (type != "full_attention") fields.refuse("layer_types", "Trireme knows full_attention only");
    }
}

void check_whole(ModelConfig config, const std::string& place) {
    if (config.task == Task::classify && config.labels == 0)
        config.labels = 2;  // any valid number: the corpus decides
    try {
        check_model(config);
    } catch (const ConfigError& error) {
        throw ConfigError(cat(place, " describes no model that can be built: ", error.what()));
    }
}

}  // namespace

ModelConfig model_from_config_json(std::string_view text, const std::string& place) {
    const Json file = parse_json<Json>(text, place);
    if (!file.is_object()) throw ConfigError(cat(place, " is not an object of settings, as a config.json is"));
    const ConfigFields fields(file, place);
    const Architecture architecture = architecture_in(fields);
    refuse_what_none_has(fields);

    ModelConfig config = traits_of(architecture.family).read(fields);
    config.name = name_of(architecture.family);
    config.family = architecture.family;
    config.task = architecture.task;
    config.tied = fields.flag("tie_word_embeddings", config.tied);
    config.init_deviation = fields.number("initializer_range", 0.02);
    if (config.task == Task::classify) config.labels = classes_in(fields, architecture);
    // The names in the file of a base model may stem from a head that was removed.
    if (config.task == Task::classify && architecture.has_head) {
        config.label_names = label_names_in(fields, config.labels);
    }
    if (config.task == Task::span && labels_in(fields, 2) != 2) {
        throw ConfigError(cat(place, ": a head of ", labels_in(fields, 2),
                              " labels does not answer questions; it needs 2, for begin and end"));
    }
    check_whole(config, place);
    return config;
}

ModelConfig read_config_json(const std::filesystem::path& file) {
    return model_from_config_json(read_regular_file(file, {}, most_bytes), file.string());
}

}  // namespace trireme::model
