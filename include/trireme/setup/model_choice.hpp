// Chooses the model from the options, a stored model and the corpus.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/config/config.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::setup {

// Opens the stored model at the path `init`. Returns nothing if `init` is "random". Throws ConfigError if the
// stored model cannot be read.
std::optional<checkpoint::StoredModel> open_stored_model(const std::string& init);

// Returns the model that `choice` names. If `choice` names no model, returns the model of `stored`, or
// gpt2-tiny if `stored` is null. Settings in `choice` replace the settings of the model. The task is `task` if
// set, otherwise the task that fits both model and corpus. The vocabulary size and the number of labels come
// from the corpus if neither the model nor `choice` sets them.
//
// Throws ConfigError if the settings contradict each other, or if the model cannot use the weights of `stored`.
// Also throws ConfigError if the corpus does not fit the model, for example because the corpus has another
// vocabulary, more classes, or images of another size.
model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored, const data::CorpusInfo& corpus);

// Chooses a model in the same way, but without a corpus. The task is `task` if set, otherwise the model's own.
// An unset vocabulary size becomes 257 (byte tokenizer), and an unset number of labels becomes 10.
model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored);

// Sets the names of the model's labels. If the head of the stored model is reused and has label names, the
// model gets these names. Otherwise the model gets the class names of the corpus, and default names for labels
// beyond the classes. If the corpus has no class names either, the model keeps its names, provided that it has
// one name per label. `stored` is null if there is no stored model. The model must have at least one label per
// class of the corpus.
void name_labels(model::ModelConfig& model, const checkpoint::StoredModel* stored,
                 const data::CorpusInfo& corpus);

// Returns, per class of the corpus, the index of the model's label of the same name. Empty if the model or the
// corpus has no names: class c then has label c. Throws ConfigError if no label or several labels have the name
// of a class.
std::vector<std::uint32_t> match_labels(const model::ModelConfig& model, const data::CorpusInfo& corpus);

}  // namespace trireme::setup
