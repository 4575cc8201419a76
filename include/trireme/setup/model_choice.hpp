// Chooses the model from the options, a stored model and the corpus.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/config/config.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::setup {

// Opens the stored model that `init` names, or returns nothing if it is "random". Throws ConfigError.
std::optional<checkpoint::StoredModel> stored_model(const std::string& init);

// Returns the named or the stored model with the requested sizes. The task is the requested one, or the one
// that fits both model and corpus. Unset sizes come from the corpus. Throws ConfigError if the corpus does not
// fit: another vocabulary, more classes, or images of another size.
model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored, const data::CorpusInfo& corpus);

// The same without a corpus. The task is the model's own; sizes that a corpus would set become 257 tokens
// (bytes) and 10 classes.
model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored);

// Names the labels of a model that has at least as many labels as the corpus has classes. The names come from
// the loaded head, or from the corpus if the head is new or has no names.
void name_labels(model::ModelConfig& model, const checkpoint::StoredModel* stored,
                 const data::CorpusInfo& corpus);

// Returns the model's label for each class of the corpus, matched by name. Empty if one of the two has no
// names: then classes and labels have equal numbers. Throws ConfigError for a class that the model lacks.
std::vector<std::uint32_t> labels_of_classes(const model::ModelConfig& model, const data::CorpusInfo& corpus);

}  // namespace trireme::setup
