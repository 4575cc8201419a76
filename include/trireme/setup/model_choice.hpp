// Which model is trained: what was asked for, and what the corpus leaves open.
#pragma once

#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/config/config.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme {

// Opens the stored model that `init` names, unless that is "random". Throws ConfigError.
std::optional<StoredModel> stored_model(const std::string& init);

// The named model or the stored one's, with single sizes overridden, for the task that was asked for or that
// model and corpus have in common. Sizes that are the corpus's are filled in. Throws ConfigError where the
// corpus does not fit: another vocabulary, more classes, images of another size.
ModelConfig choose_model(const ModelChoice& choice, const std::optional<Task>& task, const StoredModel* stored,
                         const CorpusInfo& corpus);

// Without a corpus: the task is the model's own, and of sizes that a corpus would fill in a vocabulary of 257
// (bytes) and 10 classes are assumed.
ModelConfig choose_model(const ModelChoice& choice, const std::optional<Task>& task, const StoredModel* stored);

}  // namespace trireme
