#include "trireme/setup/model_choice.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/data/tokenizer.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme::setup {
namespace {

constexpr const char* default_model = "gpt2-tiny";
constexpr std::size_t assumed_vocabulary = 257;  // default of `prepare` without a tokenizer
constexpr std::size_t assumed_labels = 10;       // CIFAR-10 and MNIST

template <class Value>
void override_with(const std::optional<Value>& choice, Value& value) {
    if (choice) value = *choice;
}

model::ModelConfig asked_for(const config::ModelChoice& choice, const checkpoint::StoredModel* stored) {
    if (choice.name.empty()) return stored ? stored->config() : model::model_named(default_model);
    return choice.name.ends_with(".json") ? model::read_config_json(choice.name)
                                          : model::model_named(choice.name);
}

void override_sizes(model::ModelConfig& model, const config::ModelChoice& choice) {
    override_with(choice.layers, model.layers);
    override_with(choice.width, model.width);
    override_with(choice.heads, model.heads);
    override_with(choice.groups, model.groups);
    override_with(choice.mlp_width, model.mlp_width);
    override_with(choice.positions, model.positions);
    override_with(choice.vocabulary, model.vocabulary);
    override_with(choice.labels, model.labels);
    override_with(choice.channels, model.image.channels);
    override_with(choice.image_size, model.image.size);
    override_with(choice.patch, model.image.patch);
    override_with(choice.tied, model.tied);
    override_with(choice.dropout, model.dropout);
    override_with(choice.dropout, model.attention_dropout);
    const bool follows_width = choice.width && !choice.mlp_width;
    if (follows_width) model.mlp_width = 4 * model.width;
    if (model.reads_images() && model.image.patch > 0) model.positions = model.image.patches() + 1;
}

// Rejects size options of other kinds of models.
void refuse_foreign_sizes(const config::ModelChoice& choice, const model::ModelConfig& model) {
    const auto refuse = [](bool is_given, const char* option, const OptionNeed& need) {
        if (is_given) throw ConfigError(no_effect(option, need));
    };
    const bool reads_images = model.reads_images();
    const OptionNeed images{"a model that reads images", "--model vit-tiny"};
    const OptionNeed tokens{"a model that reads tokens", "--model gpt2-tiny"};
    refuse(choice.channels && !reads_images, "--channels", images);
    refuse(choice.image_size && !reads_images, "--image-size", images);
    refuse(choice.patch && !reads_images, "--patch", images);
    refuse(choice.positions && reads_images, "--positions", tokens);
    refuse(choice.vocabulary && reads_images, "--vocabulary", tokens);
    refuse(choice.labels && model.task != Task::classify, "--labels", {"classes to learn", "--task classify"});
}

// Returns the task for the rows of the corpus if the family has several tasks.
Task common_task(const model::ModelConfig& model, data::RowKind rows) {
    if (tasks_of(model.family).size() == 1) return model.task;
    switch (rows) {
        case data::RowKind::labelled_text:
            return Task::classify;
        case data::RowKind::question:
            return Task::span;
        case data::RowKind::text:
        case data::RowKind::image:
            break;
    }
    return tasks_of(model.family).front();
}

// Labels belong to a head, so a model with a new head takes the labels of the corpus.
void set_task(model::ModelConfig& model, Task task, const config::ModelChoice& choice) {
    if (model.task != task && !choice.labels) model.labels = 0;
    model.task = task;
}

// Returns advice if the tokenizer has another size. A stored model keeps its table, which may have spare rows
// but must not be too small.
std::string ways_out(const model::ModelConfig& model, const data::CorpusInfo& corpus, bool is_stored) {
    const std::string prepare = "prepare it with the model's tokenizer";
    if (!is_stored) return cat(prepare, ", or use --vocabulary ", corpus.vocabulary_size);
    if (corpus.vocabulary_size > model.vocabulary) return prepare;
    return cat(prepare, ", or use --vocabulary ", model.vocabulary, " if that is the one it has");
}

// Returns nothing for kinds of tokenizers that are not supported, such as BERT's own.
std::optional<std::string> hash_of_tokenizer(const std::string& bytes) {
    try {
        return data::Tokenizer::from_bytes(bytes).hash();
    } catch (const ConfigError&) {
        return std::nullopt;
    }
}

// Compares tokenizers by hash, because equal sizes do not imply equal tokens.
void fit_tokenizer(const checkpoint::StoredModel& stored, const data::CorpusInfo& corpus) {
    const auto hash = hash_of_tokenizer(stored.tokenizer());
    if (!hash || *hash == corpus.tokenizer_hash) return;
    throw ConfigError(cat(corpus.path, " was made with another tokenizer (", corpus.tokenizer_name, ") than ",
                          stored.place(), " was trained with; prepare it again with --tokenizer ",
                          stored.place(), "/tokenizer.json"));
}

// A model with a known vocabulary expects its own tokenizer, unless --vocabulary is set.
void fit_vocabulary(model::ModelConfig& model, const config::ModelChoice& choice,
                    const data::CorpusInfo& corpus, bool is_stored) {
    if (model.vocabulary == 0) model.vocabulary = corpus.vocabulary_size;
    if (choice.vocabulary && corpus.vocabulary_size > model.vocabulary) {
        throw ConfigError(cat(corpus.path, " has tokens up to ", corpus.vocabulary_size - 1, " (tokenizer ",
                              corpus.tokenizer_name, "), beyond --vocabulary ", model.vocabulary,
                              "; use --vocabulary ", corpus.vocabulary_size, " or prepare the corpus again"));
    }
    if (!choice.vocabulary && corpus.vocabulary_size != model.vocabulary) {
        throw ConfigError(cat(corpus.path, " was made with another tokenizer: ", corpus.tokenizer_name, " of ",
                              corpus.vocabulary_size, " tokens, where ", model.name, " has ", model.vocabulary,
                              "; ", ways_out(model, corpus, is_stored)));
    }
}

void fit_images(const model::ModelConfig& model, const data::CorpusInfo& corpus) {
    if (corpus.kind != data::RowKind::image) {
        throw ConfigError(cat(model.name, " reads images, and the rows of ", corpus.path, " are of the kind ",
                              name_of(corpus.kind),
                              "; prepare images (CIFAR-10, MNIST), or choose another --model"));
    }
    const data::ImageSize expected{model.image.channels, model.image.size, model.image.size};
    if (corpus.image == expected) return;
    const std::string channels = corpus.image.channels == expected.channels
                                     ? std::string()
                                     : cat("--channels ", corpus.image.channels, " and ");
    throw ConfigError(cat("the images of ", corpus.path, " are ", corpus.image.channels, " x ",
                          corpus.image.height, " x ", corpus.image.width, " (channels, height, width), and ",
                          model.name, " reads ", expected.channels, " x ", expected.height, " x ",
                          expected.width, "; use ", channels, "--image-size ", corpus.image.height,
                          " with a --patch that divides it, or other images"));
}

void fit_labels(model::ModelConfig& model, const data::CorpusInfo& corpus) {
    if (corpus.classes == 0) {
        throw ConfigError(cat(corpus.path, " has no classes: its rows are of the kind ", name_of(corpus.kind),
                              "; prepare texts with --label FIELD, or choose another --task"));
    }
    if (model.labels == 0) model.labels = corpus.classes;
    if (corpus.classes > model.labels) {
        throw ConfigError(cat(corpus.path, " has ", corpus.classes, " classes, and the model ", model.labels,
                              "; use --labels ", corpus.classes));
    }
}

// Rejects models that give the stored weights another meaning despite equal shapes.
void refuse_another_meaning(const model::ModelConfig& model, const checkpoint::StoredModel& stored) {
    const model::ModelConfig& origin = stored.config();
    const auto refuse = [&](const char* what, auto wanted, auto had) {
        throw ConfigError(cat("the weights of ", stored.place(), " were trained with ", what, " ", had,
                              ", not ", wanted,
                              "; keep what they were trained with, or start from --init random"));
    };
    if (model.family != origin.family) refuse("the family", name_of(model.family), name_of(origin.family));
    if (model.heads != origin.heads) refuse("--heads", model.heads, origin.heads);
    if (model.key_groups() != origin.key_groups()) refuse("--groups", model.key_groups(), origin.key_groups());
    if (model.image.patch != origin.image.patch) refuse("--patch", model.image.patch, origin.image.patch);
    if (model.activation != origin.activation)
        refuse("the activation", model::name_of(model.activation), model::name_of(origin.activation));
    if (model.norm_epsilon != origin.norm_epsilon)
        refuse("the norm epsilon", model.norm_epsilon, origin.norm_epsilon);
    if (model.rotary.base != origin.rotary.base)
        refuse("the rotary base", model.rotary.base, origin.rotary.base);
}

constexpr std::size_t names_shown = 10;

// True if the model has the head of the stored one. Another number of labels needs a new head.
bool has_head_of(const checkpoint::StoredModel& stored, const model::ModelConfig& model) {
    return stored.config().task == Task::classify && stored.config().labels == model.labels;
}

std::string in_words(const std::vector<std::string>& names) {
    std::string words;
    const std::size_t shown = std::min(names.size(), names_shown);
    for (std::size_t i = 0; i < shown; ++i) words += cat(i == 0 ? "" : ", ", names[i]);
    return shown == names.size() ? words : cat(words, " and ", names.size() - shown, " more");
}

std::uint32_t label_named(const std::string& name, const model::ModelConfig& model,
                          const data::CorpusInfo& corpus) {
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

std::optional<checkpoint::StoredModel> stored_model(const std::string& init) {
    if (init == "random") return std::nullopt;
    return checkpoint::StoredModel::open(init);
}

model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored, const data::CorpusInfo& corpus) {
    model::ModelConfig model = asked_for(choice, stored);
    override_sizes(model, choice);
    set_task(model, task.value_or(common_task(model, corpus.kind)), choice);
    refuse_foreign_sizes(choice, model);
    if (model.reads_images()) {
        fit_images(model, corpus);
    } else if (corpus.kind == data::RowKind::image) {
        throw ConfigError(cat(corpus.path, " holds images, which ", model.name,
                              " does not read; choose --model vit-tiny or another vit"));
    } else {
        fit_vocabulary(model, choice, corpus, stored != nullptr);
        if (stored != nullptr) fit_tokenizer(*stored, corpus);
    }
    if (model.task == Task::classify) {
        fit_labels(model, corpus);
        name_labels(model, stored, corpus);
    } else {
        model.label_names.clear();
    }
    check_model(model);
    if (stored != nullptr) refuse_another_meaning(model, *stored);
    return model;
}

model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored) {
    model::ModelConfig model = asked_for(choice, stored);
    override_sizes(model, choice);
    set_task(model, task.value_or(model.task), choice);
    refuse_foreign_sizes(choice, model);
    if (!model.reads_images() && model.vocabulary == 0) model.vocabulary = assumed_vocabulary;
    if (model.task == Task::classify && model.labels == 0) model.labels = assumed_labels;
    check_model(model);
    if (stored != nullptr) refuse_another_meaning(model, *stored);
    return model;
}

void name_labels(model::ModelConfig& model, const checkpoint::StoredModel* stored,
                 const data::CorpusInfo& corpus) {
    if (model.label_names.size() != model.labels) model.label_names.clear();
    if (stored != nullptr && has_head_of(*stored, model) && !stored->config().label_names.empty()) {
        model.label_names = stored->config().label_names;
    } else if (!corpus.class_names.empty()) {
        model.label_names = corpus.class_names;
        while (model.label_names.size() < model.labels)
            model.label_names.push_back(model::unnamed_label(model.label_names.size()));
    }
}

std::vector<std::uint32_t> labels_of_classes(const model::ModelConfig& model, const data::CorpusInfo& corpus) {
    if (model.label_names.empty()) return {};
    std::vector<std::uint32_t> labels;
    for (const std::string& name : corpus.class_names) labels.push_back(label_named(name, model, corpus));
    return labels;
}

}  // namespace trireme::setup
