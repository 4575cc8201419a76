#include "trireme/setup/model_choice.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/data/tokenizer.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme::setup {
namespace {

constexpr const char* default_model = "gpt2-tiny";
constexpr std::size_t assumed_vocabulary = 257;  // default of `prepare` without a tokenizer
constexpr std::size_t assumed_labels = 10;       // CIFAR-10 and MNIST

template <class Value>
void override_value(const std::optional<Value>& choice, Value& value) {
    if (choice) value = *choice;
}

model::ModelConfig find_requested_model(const config::ModelChoice& choice,
                                        const checkpoint::StoredModel* stored) {
    if (choice.name.empty()) return stored ? stored->config() : model::find_named_model(default_model);
    return choice.name.ends_with(".json") ? model::read_config_json(choice.name)
                                          : model::find_named_model(choice.name);
}

void override_sizes(model::ModelConfig& model, const config::ModelChoice& choice) {
    override_value(choice.layers, model.layers);
    override_value(choice.width, model.width);
    override_value(choice.heads, model.heads);
    override_value(choice.groups, model.groups);
    override_value(choice.mlp_width, model.mlp_width);
    override_value(choice.positions, model.positions);
    override_value(choice.vocabulary, model.vocabulary);
    override_value(choice.labels, model.labels);
    override_value(choice.channels, model.image.channels);
    override_value(choice.image_size, model.image.size);
    override_value(choice.patch, model.image.patch);
    override_value(choice.tied, model.tied);
    override_value(choice.dropout, model.dropout);
    override_value(choice.dropout, model.attention_dropout);
    const bool scales_mlp_with_width = choice.width && !choice.mlp_width;
    if (scales_mlp_with_width) model.mlp_width = 4 * model.width;
    // An image has one position per patch and one for the class token.
    if (model.reads_images() && model.image.patch > 0) model.positions = model.image.count_patches() + 1;
}

// Throws ConfigError if `choice` sets a size that has no effect, e.g. --patch for a model that reads tokens.
void refuse_sizes_without_effect(const config::ModelChoice& choice, const model::ModelConfig& model) {
    const auto refuse_if = [](bool has_no_effect, const char* option, const OptionNeed& need) {
        if (has_no_effect) throw ConfigError(describe_no_effect(option, need));
    };
    const bool reads_images = model.reads_images();
    const OptionNeed images{"a model that reads images", "--model vit-tiny"};
    const OptionNeed tokens{"a model that reads tokens", "--model gpt2-tiny"};
    refuse_if(choice.channels && !reads_images, "--channels", images);
    refuse_if(choice.image_size && !reads_images, "--image-size", images);
    refuse_if(choice.patch && !reads_images, "--patch", images);
    refuse_if(choice.positions && reads_images, "--positions", tokens);
    refuse_if(choice.vocabulary && reads_images, "--vocabulary", tokens);
    refuse_if(choice.labels && model.task != Task::classify, "--labels",
              {"classes to learn", "--task classify"});
}

// Returns the task that fits both the model's family and the rows of the corpus: for plain texts and images,
// the default task of the family.
Task find_common_task(const model::ModelConfig& model, data::RowKind rows) {
    if (list_tasks(model.family).size() == 1) return model.task;
    switch (rows) {
        case data::RowKind::labelled_text:
            return Task::classify;
        case data::RowKind::question:
            return Task::span;
        case data::RowKind::text:
        case data::RowKind::image:
            break;
    }
    return list_tasks(model.family).front();
}

// Sets the task of the model. If the task changes, the model gets a new head. Unless --labels is set, the
// number of labels is then reset to 0, which lets the corpus determine this number.
void set_task(model::ModelConfig& model, Task task, const config::ModelChoice& choice) {
    if (model.task != task && !choice.labels) model.labels = 0;
    model.task = task;
}

// Returns advice for a corpus whose vocabulary has another size than the model's. A stored model (`is_stored`)
// keeps its token table: the vocabulary of the corpus may be smaller than the table, but not larger.
std::string describe_tokenizer_options(const model::ModelConfig& model, const data::CorpusInfo& corpus,
                                       bool is_stored) {
    const std::string prepare = "prepare the corpus with the model's tokenizer";
    if (!is_stored) return cat(prepare, ", or use --vocabulary ", corpus.vocabulary_size);
    if (corpus.vocabulary_size > model.vocabulary) return prepare;
    return cat(prepare, ", or use --vocabulary ", model.vocabulary,
               " if the corpus already has this tokenizer");
}

// Returns the hash of the tokenizer in `bytes`, the contents of a tokenizer.json. Returns nothing if `bytes` is
// empty, and for kinds of tokenizers that are not supported, such as BERT's own.
std::optional<std::string> compute_tokenizer_hash(const std::string& bytes) {
    try {
        return data::Tokenizer::from_bytes(bytes).compute_hash();
    } catch (const ConfigError&) {
        return std::nullopt;
    }
}

// Throws ConfigError if the corpus was not made with the tokenizer of the stored model. Compares hashes,
// because equal vocabulary sizes do not imply equal tokens. Checks nothing if the stored model has no
// tokenizer, or one of an unsupported kind.
void check_tokenizer(const checkpoint::StoredModel& stored, const data::CorpusInfo& corpus) {
    const auto stored_hash = compute_tokenizer_hash(stored.tokenizer());
    if (!stored_hash || *stored_hash == corpus.tokenizer_hash) return;
    throw ConfigError(cat(corpus.path, " was made with another tokenizer (", corpus.tokenizer_name, ") than ",
                          stored.path(), " was trained with; prepare it again with --tokenizer ", stored.path(),
                          "/tokenizer.json"));
}

// If the model's vocabulary size is unset, sets it to that of the corpus. Throws ConfigError if the corpus has
// a larger vocabulary than the model. Without --vocabulary, a smaller vocabulary of the corpus is an error,
// too.
void fit_vocabulary(model::ModelConfig& model, const config::ModelChoice& choice,
                    const data::CorpusInfo& corpus, bool is_stored) {
    if (model.vocabulary == 0) model.vocabulary = corpus.vocabulary_size;
    if (choice.vocabulary && corpus.vocabulary_size > model.vocabulary) {
        throw ConfigError(cat(corpus.path, " has tokens up to ", corpus.vocabulary_size - 1, " (tokenizer ",
                              corpus.tokenizer_name, "), beyond --vocabulary ", model.vocabulary,
                              "; use --vocabulary ", corpus.vocabulary_size, " or prepare the corpus again"));
    }
    if (!choice.vocabulary && corpus.vocabulary_size != model.vocabulary) {
        throw ConfigError(cat(corpus.path, " was made with another tokenizer: ", corpus.tokenizer_name, " has ",
                              corpus.vocabulary_size, " tokens, but ", model.name, " has ", model.vocabulary,
                              "; ", describe_tokenizer_options(model, corpus, is_stored)));
    }
}

void check_images(const model::ModelConfig& model, const data::CorpusInfo& corpus) {
    if (corpus.kind != data::RowKind::image) {
        throw ConfigError(cat(model.name, " reads images, but the rows of ", corpus.path, " are of the kind ",
                              to_string(corpus.kind),
                              "; prepare images (CIFAR-10, MNIST), or choose another --model"));
    }
    const data::ImageSize expected{model.image.channels, model.image.size, model.image.size};
    if (corpus.image == expected) return;
    const std::string channels_option = corpus.image.channels == expected.channels
                                            ? std::string()
                                            : cat("--channels ", corpus.image.channels, " and ");
    throw ConfigError(cat("the images of ", corpus.path, " are ", corpus.image.channels, " x ",
                          corpus.image.height, " x ", corpus.image.width, " (channels, height, width), but ",
                          model.name, " reads ", expected.channels, " x ", expected.height, " x ",
                          expected.width, "; use ", channels_option, "--image-size ", corpus.image.height,
                          " with a --patch that divides ", corpus.image.height, ", or use other images"));
}

// If the model's number of labels is unset, sets it to the number of classes of the corpus. Throws ConfigError
// if the corpus has no classes, or more classes than the model has labels.
void fit_labels(model::ModelConfig& model, const data::CorpusInfo& corpus) {
    if (corpus.classes == 0) {
        throw ConfigError(cat(corpus.path, " has no classes: its rows are of the kind ", to_string(corpus.kind),
                              "; prepare texts with --label FIELD, or choose another --task"));
    }
    if (model.labels == 0) model.labels = corpus.classes;
    if (corpus.classes > model.labels) {
        throw ConfigError(cat(corpus.path, " has ", corpus.classes, " classes, but the model has only ",
                              format_count(model.labels, "label"), "; use --labels ", corpus.classes));
    }
}

// Throws ConfigError if the model would compute something else with the stored weights than the stored model
// does. Compares the settings that may differ although the weights have equal shapes.
void check_weights_compatible(const model::ModelConfig& model, const checkpoint::StoredModel& stored) {
    const model::ModelConfig& stored_config = stored.config();
    const auto refuse = [&](const char* what, auto model_value, auto stored_value) {
        throw ConfigError(cat("the weights of ", stored.path(), " were trained with ", what, " ", stored_value,
                              ", not ", model_value, "; keep the trained value, or use --init random"));
    };
    if (model.family != stored_config.family)
        refuse("the family", to_string(model.family), to_string(stored_config.family));
    if (model.heads != stored_config.heads) refuse("--heads", model.heads, stored_config.heads);
    if (model.key_value_heads() != stored_config.key_value_heads())
        refuse("--groups", model.key_value_heads(), stored_config.key_value_heads());
    if (model.image.patch != stored_config.image.patch)
        refuse("--patch", model.image.patch, stored_config.image.patch);
    if (model.activation != stored_config.activation)
        refuse("the activation", model::to_string(model.activation),
               model::to_string(stored_config.activation));
    if (model.norm_epsilon != stored_config.norm_epsilon)
        refuse("the norm epsilon", model.norm_epsilon, stored_config.norm_epsilon);
    if (model.rotary.base != stored_config.rotary.base)
        refuse("the rotary base", model.rotary.base, stored_config.rotary.base);
}

constexpr std::size_t max_listed_names = 10;

// True if the model uses the classification head of the stored model. Another number of labels needs a new
// head.
bool uses_stored_head(const checkpoint::StoredModel& stored, const model::ModelConfig& model) {
    return stored.config().task == Task::classify && stored.config().labels == model.labels;
}

// Returns the names, separated by commas. If there are more than max_listed_names names, the rest is counted.
std::string format_names(const std::vector<std::string>& names) {
    std::string text;
    const std::size_t listed_count = std::min(names.size(), max_listed_names);
    for (std::size_t i = 0; i < listed_count; ++i) text += cat(i == 0 ? "" : ", ", names[i]);
    return listed_count == names.size() ? text : cat(text, " and ", names.size() - listed_count, " more");
}

// Returns the index of the model's label `name`, which is the name of a class of the corpus. Throws ConfigError
// if no label or several labels have this name.
std::uint32_t find_label(const std::string& name, const model::ModelConfig& model,
                         const data::CorpusInfo& corpus) {
    const auto& names = model.label_names;
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
        throw ConfigError(cat(corpus.path, " has the class ", name, ", but the classes of ", model.name,
                              " are ", format_names(names),
                              "; prepare the corpus with these names, or omit all other classes with --where"));
    if (std::find(found + 1, names.end(), name) != names.end())
        throw ConfigError(cat("the class ", name, " of ", corpus.path, " matches several classes of ",
                              model.name, "; give each class its own name in the model's config.json"));
    return static_cast<std::uint32_t>(found - names.begin());
}

}  // namespace

std::optional<checkpoint::StoredModel> open_stored_model(const std::string& init) {
    if (init == "random") return std::nullopt;
    return checkpoint::StoredModel::open(init);
}

model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored, const data::CorpusInfo& corpus) {
    model::ModelConfig model = find_requested_model(choice, stored);
    override_sizes(model, choice);
    set_task(model, task.value_or(find_common_task(model, corpus.kind)), choice);
    refuse_sizes_without_effect(choice, model);
    if (model.reads_images()) {
        check_images(model, corpus);
    } else if (corpus.kind == data::RowKind::image) {
        throw ConfigError(cat(corpus.path, " holds images, which ", model.name,
                              " does not read; choose --model vit-tiny or another vit"));
    } else {
        fit_vocabulary(model, choice, corpus, stored != nullptr);
        if (stored != nullptr) check_tokenizer(*stored, corpus);
    }
    if (model.task == Task::classify) {
        fit_labels(model, corpus);
        name_labels(model, stored, corpus);
    } else {
        model.label_names.clear();
    }
    check_model(model);
    if (stored != nullptr) check_weights_compatible(model, *stored);
    return model;
}

model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored) {
    model::ModelConfig model = find_requested_model(choice, stored);
    override_sizes(model, choice);
    set_task(model, task.value_or(model.task), choice);
    refuse_sizes_without_effect(choice, model);
    if (!model.reads_images() && model.vocabulary == 0) model.vocabulary = assumed_vocabulary;
    if (model.task == Task::classify && model.labels == 0) model.labels = assumed_labels;
    check_model(model);
    if (stored != nullptr) check_weights_compatible(model, *stored);
    return model;
}

void name_labels(model::ModelConfig& model, const checkpoint::StoredModel* stored,
                 const data::CorpusInfo& corpus) {
    if (model.label_names.size() != model.labels) model.label_names.clear();
    if (stored != nullptr && uses_stored_head(*stored, model) && !stored->config().label_names.empty()) {
        model.label_names = stored->config().label_names;
    } else if (!corpus.class_names.empty()) {
        model.label_names = corpus.class_names;
        while (model.label_names.size() < model.labels)
            model.label_names.push_back(model::make_default_label_name(model.label_names.size()));
    }
}

std::vector<std::uint32_t> match_labels(const model::ModelConfig& model, const data::CorpusInfo& corpus) {
    if (model.label_names.empty()) return {};
    std::vector<std::uint32_t> labels;
    for (const std::string& name : corpus.class_names) labels.push_back(find_label(name, model, corpus));
    return labels;
}

}  // namespace trireme::setup
