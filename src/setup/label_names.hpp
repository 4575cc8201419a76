// Classes by name: what the numbers of a corpus are to a model.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/data/corpus_info.hpp"
#include "trireme/model/config.hpp"

namespace trireme {

// Names the labels of a model whose number of labels is known, and is no less than the corpus's classes: as the
// head that is loaded knows them, or as the corpus does where the head is new or has no names.
void name_labels(ModelConfig& model, const StoredModel* stored, const CorpusInfo& corpus);

// The model's label for each class of the corpus, by name; empty where one of the two has no names, and the
// numbers are the same. Throws ConfigError for a class that the model does not have.
std::vector<std::uint32_t> labels_of_classes(const ModelConfig& model, const CorpusInfo& corpus);

}  // namespace trireme
