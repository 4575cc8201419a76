// Choosing a model for a corpus of which only the description is there.
#pragma once

#include <gtest/gtest.h>

#include "scratch_folder.hpp"
#include "trireme/model/model.hpp"
#include "trireme/setup/model_choice.hpp"
#include "unit/checkpoint/zero_model.hpp"

namespace trireme::validation {

inline CorpusInfo corpus_of(RowKind kind) {
    CorpusInfo corpus;
    corpus.path = "a.h5";
    corpus.kind = kind;
    corpus.tokenizer_name = "bytes";
    corpus.vocabulary_size = 257;
    return corpus;
}

inline CorpusInfo images_of(std::size_t channels, std::size_t edge, std::size_t classes) {
    CorpusInfo corpus;
    corpus.path = "a.h5";
    corpus.kind = RowKind::image;
    corpus.image = {channels, edge, edge};
    corpus.classes = classes;
    return corpus;
}

inline ModelConfig chosen(const ModelChoice& choice, const CorpusInfo& corpus = corpus_of(RowKind::text),
                          const std::optional<Task>& task = {}, const StoredModel* stored = nullptr) {
    return choose_model(choice, task, stored, corpus);
}

inline ModelChoice named(const std::string& name) {
    ModelChoice choice;
    choice.name = name;
    return choice;
}

// A checkpoint of a small model whose parameters are all zero.
class AStoredModel : public ::testing::Test {
protected:
    static ModelConfig small_bert() {
        ModelConfig model = model_named("bert-tiny");
        model.layers = 1;
        model.width = 4;
        model.heads = 2;
        model.mlp_width = 8;
        model.positions = 16;
        model.vocabulary = 257;
        model.task = Task::classify;
        model.labels = 5;
        return model;
    }

    StoredModel stored(const ModelConfig& model, const std::string& tokenizer = "") const {
        return StoredModel::open(write_zero_model(folder_.file("checkpoints"), model, tokenizer, 7));
    }

    ScratchFolder folder_;
};

}  // namespace trireme::validation
