// Chooses a model for a corpus of which only the description exists.
#pragma once

#include <gtest/gtest.h>

#include "scratch_folder.hpp"
#include "trireme/model/model.hpp"
#include "trireme/setup/model_choice.hpp"
#include "unit/checkpoint/zero_model.hpp"

namespace trireme::validation {

inline data::CorpusInfo corpus_of(data::RowKind kind) {
    data::CorpusInfo corpus;
    corpus.path = "a.h5";
    corpus.kind = kind;
    corpus.tokenizer_name = "bytes";
    corpus.vocabulary_size = 257;
    return corpus;
}

inline data::CorpusInfo images_of(std::size_t channels, std::size_t edge, std::size_t classes) {
    data::CorpusInfo corpus;
    corpus.path = "a.h5";
    corpus.kind = data::RowKind::image;
    corpus.image = {channels, edge, edge};
    corpus.classes = classes;
    return corpus;
}

inline model::ModelConfig chosen(const config::ModelChoice& choice,
                                 const data::CorpusInfo& corpus = corpus_of(data::RowKind::text),
                                 const std::optional<Task>& task = {},
                                 const checkpoint::StoredModel* stored = nullptr) {
    return setup::choose_model(choice, task, stored, corpus);
}

inline config::ModelChoice named(const std::string& name) {
    config::ModelChoice choice;
    choice.name = name;
    return choice;
}

// Fixture with a checkpoint of a small model whose parameters are all zero.
class ModelFromCheckpoint : public ::testing::Test {
protected:
    static model::ModelConfig small_bert() {
        model::ModelConfig model = model::find_named_model("bert-tiny");
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

    checkpoint::StoredModel stored(const model::ModelConfig& model, const std::string& tokenizer = "") const {
        return checkpoint::StoredModel::open(
            write_zero_model(folder_.file("checkpoints"), model, tokenizer, 7));
    }

    ScratchFolder folder_;
};

}  // namespace trireme::validation
