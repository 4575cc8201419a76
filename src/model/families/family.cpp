#include "trireme/model/family.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::model {
namespace {

std::vector<ModelConfig> all_models() {
    std::vector<ModelConfig> models;
    for (const FamilyTraits* family : families)
        for (ModelConfig& model : family->models()) models.push_back(std::move(model));
    return models;
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

const FamilyTraits& traits_of(Family family) {
    for (const FamilyTraits* each : families)
        if (each->family == family) return *each;
    throw BugError("unknown family");
}

const char* name_of(Family family) { return traits_of(family).name; }

std::vector<Task> tasks_of(Family family) {
    std::vector<Task> tasks;
    for (const Architecture& each : traits_of(family).architectures)
        if (std::ranges::find(tasks, each.task) == tasks.end()) tasks.push_back(each.task);
    return tasks;
}

bool ModelConfig::is_causal() const { return traits_of(family).is_causal; }
bool ModelConfig::reads_images() const { return traits_of(family).reads_images; }

std::vector<std::string> known_models() {
    std::vector<std::string> names;
    for (const ModelConfig& model : all_models()) names.push_back(model.name);
    return names;
}

ModelConfig model_named(const std::string& name) {
    const std::vector<ModelConfig> models = all_models();
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.name == name; });
    if (found != models.end()) return *found;
    const std::vector<std::string> known = known_models();
    throw ConfigError(cat("--model ", name, " is not known", did_you_mean(name, known), "; known are ",
                          joined(known), ", and the path of a config.json of Hugging Face's"));
}

}  // namespace trireme::model
