#include "trireme/model/family.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::model {
namespace {

std::vector<ModelConfig> list_all_models() {
    std::vector<ModelConfig> models;
    for (const FamilyTraits* family : families)
        for (ModelConfig& model : family->list_models()) models.push_back(std::move(model));
    return models;
}

std::string join_names(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

const FamilyTraits& find_traits(Family family) {
    for (const FamilyTraits* each : families)
        if (each->family == family) return *each;
    throw BugError("unknown family");
}

const char* to_string(Family family) { return find_traits(family).name; }

std::vector<Task> list_tasks(Family family) {
    std::vector<Task> tasks;
    for (const Architecture& each : find_traits(family).architectures)
        if (std::ranges::find(tasks, each.task) == tasks.end()) tasks.push_back(each.task);
    return tasks;
}

bool ModelConfig::is_causal() const { return find_traits(family).is_causal; }
bool ModelConfig::reads_images() const { return find_traits(family).reads_images; }

std::vector<std::string> list_model_names() {
    std::vector<std::string> names;
    for (const ModelConfig& model : list_all_models()) names.push_back(model.name);
    return names;
}

ModelConfig find_named_model(const std::string& name) {
    const std::vector<ModelConfig> models = list_all_models();
    const auto found = std::find_if(models.begin(), models.end(),
                                    [&](const ModelConfig& model) { return model.name == name; });
    if (found != models.end()) return *found;
    const std::vector<std::string> known_names = list_model_names();
    throw ConfigError(cat("--model ", name, " is not a known model; use one of ", join_names(known_names),
                          ", or the path of a Hugging Face config.json", suggest_word(name, known_names)));
}

}  // namespace trireme::model
