// Which model is trained: what was asked for, and what the corpus leaves open.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/config/config.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::setup {

// Opens the stored model that `init` names, unless that is "random". Throws ConfigError.
std::optional<checkpoint::StoredModel> stored_model(const std::string& init);

// The named model or the stored one's, with single sizes overridden, for the task that was asked for or that
// model and corpus have in common. Sizes that are the corpus's are filled in. Throws ConfigError where the
// corpus does not fit: another vocabulary, more classes, images of another size.
model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored, const data::CorpusInfo& corpus);

// Without a corpus: the task is the model's own, and of sizes that a corpus would fill in a vocabulary of 257
// (bytes) and 10 classes are assumed.
model::ModelConfig choose_model(const config::ModelChoice& choice, const std::optional<Task>& task,
                                const checkpoint::StoredModel* stored);

// Names the labels of a model whose number of labels is known, and is no less than the corpus's classes: as the
// head that is loaded knows them, or as the corpus does where the head is new or has no names.
void name_labels(model::ModelConfig& model, const checkpoint::StoredModel* stored,
                 const data::CorpusInfo& corpus);

// The model's label for each class of the corpus, by name; empty where one of the two has no names, and the
// numbers are the same. Throws ConfigError for a class that the model does not have.
std::vector<std::uint32_t> labels_of_classes(const model::ModelConfig& model, const data::CorpusInfo& corpus);

}  // namespace trireme::setup
