// Writes a config.json with the keys of transformers 4 and 5.
#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme::model {
namespace {

using Json = nlohmann::json;

// Returns the first architecture of the family with this task.
const char* architecture_of(Family family, Task task) {
    for (const Architecture& each : traits_of(family).architectures) {
        if (each.task == task) return each.name;
    }
    throw BugError(cat("a ", name_of(family), " model has no head for the task ", name_of(task)));
}

// transformers derives the number of classes from their names.
void write_labels(const ModelConfig& config, ConfigSettings& file) {
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

// Returns true if the setting in `base` wins: it has a value where `value` is null (tokens around a text), or
// it has names of equally many classes.
bool keeps(const Json& base, const std::string& name, const Json& value) {
    const auto old = base.find(name);
    if (old == base.end() || old->is_null()) return false;
    const bool names_classes = name == "id2label" || name == "label2id";
    return value.is_null() || (names_classes && old->size() == value.size());
}

}  // namespace

std::string config_json_of(const ModelConfig& config, const std::string& dtype, const std::string& base) {
    ConfigSettings file;
    file["architectures"] = Json::array({architecture_of(config.family, config.task)});
    file["model_type"] = name_of(config.family);
    file["dtype"] = dtype;
    file["torch_dtype"] = dtype;
    file["initializer_range"] = config.init_deviation;
    traits_of(config.family).write(config, file);
    if (!config.reads_images()) {
        file["vocab_size"] = config.vocabulary;
        file["tie_word_embeddings"] = config.tied;
    }
    if (config.task == Task::classify && config.labels > 0) write_labels(config, file);
    Json whole = try_parse_json<Json>(base).value_or(Json::object());
    if (!whole.is_object()) whole = Json::object();
    whole.erase("num_labels");  // the names of the classes determine it
    if (!config.label_names.empty()) {
        whole.erase("id2label");
        whole.erase("label2id");
    }
    for (const auto& [name, value] : file.values.items())
        if (!keeps(whole, name, value)) whole[name] = value;
    return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trireme::model
