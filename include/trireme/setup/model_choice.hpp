// Chooses the model from the options, a stored model and the corpus.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/config/config.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::setup {

// Opens the stored model that `init` names, or returns nothing if `init` is "random". Throws ConfigError if the
// stored model cannot be read.
std::optional<checkpoint::StoredModel> open_stored_model(const std::string& init);

// Returns the model that `choice` names; if it names none, the stored model; if there is none, gpt2-tiny. Sizes
// set in `choice` replace those of the model. The task is `task` if set, otherwise the one that fits both model
// and corpus. Sizes that neither the model nor `choice` sets come from the corpus. Throws ConfigError if the
// corpus does not fit the model, because the corpus has e.g. another vocabulary, more classes, or images of
// another size. `stored` is null if there is no stored model.
model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored, const data::CorpusInfo& corpus);

// Chooses a model without a corpus. The task is `task` if set, otherwise the model's own. Sizes that a corpus
// would set become 257 tokens (of the byte tokenizer) and 10 classes.
model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored);

// Sets the names of the model's labels. They come from the stored model if its head is reused and has names,
// otherwise from the corpus. The caller ensures that the model has at least one label per class of the corpus.
void name_labels(model::ModelConfig& model, const checkpoint::StoredModel* stored,
                 const data::CorpusInfo& corpus);

// Returns the index of the model's label for each class of the corpus, matched by name. Empty if the model or
// the corpus has no names: then class c has label c. Throws ConfigError for a class that the model lacks.
std::vector<std::uint32_t> match_labels(const model::ModelConfig& model, const data::CorpusInfo& corpus);

}  // namespace trireme::setup
