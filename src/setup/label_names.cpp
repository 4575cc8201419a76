#include "setup/label_names.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

constexpr std::size_t names_shown = 10;

// Whether the model has the stored one's head: another number of labels asks for a new one.
bool has_head_of(const StoredModel& stored, const ModelConfig& model) {
    return stored.config().task == Task::classify && stored.config().labels == model.labels;
}

std::string in_words(const std::vector<std::string>& names) {
    std::string words;
    const std::size_t shown = std::min(names.size(), names_shown);
    for (std::size_t i = 0; i < shown; ++i) words += cat(i == 0 ? "" : ", ", names[i]);
    return shown == names.size() ? words : cat(words, " and ", names.size() - shown, " more");
}

std::uint32_t label_named(const std::string& name, const ModelConfig& model, const CorpusInfo& corpus) {
    const auto& names = model.label_names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        throw ConfigError(cat(corpus.path, " has the class ", name, ", which ", model.name,
                              " does not have; its classes are ", in_words(names),
                              "; prepare the corpus with these names, or leave the others out with --where"));
    if (std::find(found + 1, names.end(), name) != names.end())
        throw ConfigError(cat(corpus.path, " has the class ", name, ", a name that ", model.name,
                              " has for more than one of its classes; give each a name of its own in the ",
                              "model's config.json"));
    return static_cast<std::uint32_t>(found - names.begin());
}

}  // namespace

void name_labels(ModelConfig& model, const StoredModel* stored, const CorpusInfo& corpus) {
    if (model.label_names.size() != model.labels) model.label_names.clear();
    if (stored != nullptr && has_head_of(*stored, model) && !stored->config().label_names.empty()) {
        model.label_names = stored->config().label_names;
    } else if (!corpus.class_names.empty()) {
        model.label_names = corpus.class_names;
        while (model.label_names.size() < model.labels)
            model.label_names.push_back(unnamed_label(model.label_names.size()));
    }
}

std::vector<std::uint32_t> labels_of_classes(const ModelConfig& model, const CorpusInfo& corpus) {
    if (model.label_names.empty()) return {};
    std::vector<std::uint32_t> labels;
    for (const std::string& name : corpus.class_names) labels.push_back(label_named(name, model, corpus));
    return labels;
}

}  // namespace trireme
