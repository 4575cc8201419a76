// Writes a config.json with the keys of transformers 4 and 5.
#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme::model {
namespace {

using Json = nlohmann::json;

// Returns the name of the family's first architecture for `task`.
const char* find_architecture(Family family, Task task) {
    for (const Architecture& each : find_traits(family).architectures) {
        if (each.task == task) return each.name;
    }
    throw BugError(cat("a ", to_string(family), " model has no head for the task ", to_string(task)));
}

// Writes id2label and label2id, from which transformers derives the number of classes.
void write_labels(const ModelConfig& config, ConfigSettings& settings) {
    Json names = Json::object();
    Json numbers = Json::object();
    for (std::size_t label = 0; label < config.labels; ++label) {
        const std::string name =
            config.label_names.empty() ? make_default_label_name(label) : config.label_names.at(label);
        names[std::to_string(label)] = name;
        numbers[name] = label;
    }
    settings["id2label"] = std::move(names);
    settings["label2id"] = std::move(numbers);
}

// Returns true if `base` has a value of the setting `name` that the new `value` must not replace. This is so if
// `value` is null, or if both values list the same number of classes. A null stands for a begin or end token
// whose id is unknown, or for a Llama without rope_scaling.
bool keeps_base_setting(const Json& base, const std::string& name, const Json& value) {
    const auto base_value = base.find(name);
    if (base_value == base.end() || base_value->is_null()) return false;
    const bool lists_classes = name == "id2label" || name == "label2id";
    return value.is_null() || (lists_classes && base_value->size() == value.size());
}

}  // namespace

std::string to_config_json(const ModelConfig& config, const std::string& dtype, const std::string& base) {
    ConfigSettings settings;
    settings["architectures"] = Json::array({find_architecture(config.family, config.task)});
    settings["model_type"] = to_string(config.family);
    settings["dtype"] = dtype;
    settings["torch_dtype"] = dtype;
    settings["initializer_range"] = config.init_deviation;
    find_traits(config.family).write_config(config, settings);
    if (!config.reads_images()) {
        settings["vocab_size"] = config.vocabulary;
        settings["tie_word_embeddings"] = config.tied;
    }
    if (config.task == Task::classify && config.labels > 0) write_labels(config, settings);
    Json merged = try_parse_json<Json>(base).value_or(Json::object());
    if (!merged.is_object()) merged = Json::object();
    merged.erase("num_labels");  // transformers derives it from id2label
    if (!config.label_names.empty()) {
        merged.erase("id2label");
        merged.erase("label2id");
    }
    for (const auto& [name, value] : settings.values.items())
        if (!keeps_base_setting(merged, name, value)) merged[name] = value;
    return merged.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trireme::model
