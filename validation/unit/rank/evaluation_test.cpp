// Tests evaluations with a model whose parameters are all zero. It gives every token, class and row the same
// probability and chooses the first, so its losses and choices are known.
#include <gtest/gtest.h>

#include <cmath>

#include "trireme/rank/evaluate_samples.hpp"
#include "trireme/rank/rank_trainer.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::rank {
namespace {

using validation::bert_bytes;
using validation::corpus_of;
using validation::describe_image_corpus;
using validation::described;
using validation::image_row;
using validation::labelled_row;
using validation::question_row;
using validation::ScratchFolder;
using validation::small_corpus;

// Returns the groups of the only rank of a job.
RankGroups make_groups_of_one() {
    RankGroups groups;
    groups.pipe = {0};
    groups.activations = comm::make_single_rank_group("activations");
    groups.gradients = comm::make_single_rank_group("gradients");
    groups.update = comm::make_single_rank_group("update");
    groups.record = comm::make_single_rank_group("record");
    return groups;
}

class ZeroModel : public ::testing::Test {
protected:
    // Evaluates all rows of the corpus that the test has written, `samples` at a time.
    records::Evaluation evaluate(const std::string& name, std::size_t samples = 2) const {
        config::RunConfig config;
        config.data.corpus = folder_.file("corpus.h5");
        config.data.validation_fraction = 0;
        config.model.name = name;
        config.model.layers = 1;
        config.model.width = 4;
        config.model.heads = 1;
        config.model.groups = 1;
        const bool reads_images = name.starts_with("vit");
        if (reads_images) config.model.image_size = 2;
        if (reads_images) config.model.patch = 1;
        config.run.steps = 1;
        config.run.batch = samples;
        config.precision = {.dtype = config::Precision::f64, .device = config::DeviceKind::reference};
        config.run.quiet = true;
        auto setup = setup::set_up(config, 1);
        setup.job.samples.validation = setup.job.samples.train;
        RankModel model(setup.job, setup.current, 0, make_groups_of_one());
        device::Stream stream = make_stream(config.precision.device, 1);
        return evaluate_samples(model, stream, setup.job, setup.current,
                                *comm::make_single_rank_group("control"));
    }

    // Writes one image of 2 x 2 pixels per label.
    void write_images(const std::vector<std::uint32_t>& labels) const {
        std::vector<data::CorpusRow> rows;
        for (const std::uint32_t label : labels)
            rows.push_back(image_row(std::vector<std::uint8_t>(12, 100), label));
        corpus_of(folder_, describe_image_corpus({3, 2, 2}), rows);
    }

    // Returns a row of bytes: the question, then the context. The answer is the first byte of the context.
    static data::CorpusRow question(const std::string& text, const std::string& context,
                                    const std::vector<std::string>& answers) {
        data::Question places;
        places.context_begin = static_cast<std::uint32_t>(text.size());
        places.answer_first = places.context_begin;
        places.answer_last = places.context_begin;
        places.answers = answers;
        return question_row(bert_bytes().encode(text + context), places);
    }

    ScratchFolder folder_;
};

// Each row predicts all of its tokens except the first, and its end.
TEST_F(ZeroModel, HasAPerplexityOfItsVocabularySize) {
    small_corpus(folder_, {{1, 2, 3}, {4, 5}});

    const records::Evaluation evaluation = evaluate("gpt2-tiny");

    EXPECT_EQ(evaluation.samples, 2U);
    EXPECT_EQ(evaluation.targets, 3U + 2U);
    EXPECT_NEAR(evaluation.loss, std::log(257), 1e-12);
    EXPECT_TRUE(evaluation.has_perplexity);
    EXPECT_NEAR(evaluation.compute_perplexity(), 257, 1e-9);
    EXPECT_FALSE(evaluation.accuracy.has_value());
    EXPECT_FALSE(evaluation.exact_match.has_value());
}

TEST_F(ZeroModel, ClassifiesEveryImageAsTheFirstClass) {
    write_images({0, 2, 0, 1, 1});

    const records::Evaluation evaluation = evaluate("vit-tiny");

    EXPECT_EQ(evaluation.samples, 5U);
    EXPECT_EQ(evaluation.targets, 5U);
    EXPECT_NEAR(evaluation.loss, std::log(3), 1e-12);
    EXPECT_DOUBLE_EQ(evaluation.accuracy.value(), 0.4);
    EXPECT_FALSE(evaluation.has_perplexity);
    EXPECT_FALSE(evaluation.f1.has_value());
}

TEST_F(ZeroModel, HasTheSameAccuracyForEveryBatchSize) {
    write_images({0, 2, 0, 1, 1});

    for (const std::size_t samples : {1U, 3U, 5U, 8U}) {
        EXPECT_EQ(evaluate("vit-tiny", samples).samples, 5U) << samples;
        EXPECT_DOUBLE_EQ(evaluate("vit-tiny", samples).accuracy.value(), 0.4) << samples;
    }
}

TEST_F(ZeroModel, ClassifiesEveryTextAsTheFirstClass) {
    corpus_of(folder_, described(data::RowKind::labelled_text, bert_bytes()),
              {labelled_row({1, 2}, 0), labelled_row({3}, 1), labelled_row({4}, 0), labelled_row({5}, 0)});

    const records::Evaluation evaluation = evaluate("bert-tiny");

    EXPECT_NEAR(evaluation.loss, std::log(2), 1e-12);
    EXPECT_DOUBLE_EQ(evaluation.accuracy.value(), 0.75);
}

// The masked tokens are all token 0 in the first corpus, and none is in the second.
TEST_F(ZeroModel, PredictsTheFirstTokenForMaskedOnes) {
    small_corpus(folder_, {{0, 0, 0, 0}, {0, 0}}, bert_bytes());
    const records::Evaluation first = evaluate("bert-tiny");
    small_corpus(folder_, {{7, 7, 7, 7}, {7, 7}}, bert_bytes());
    const records::Evaluation other = evaluate("bert-tiny");

    EXPECT_GE(first.targets, 2U);  // at least one per row
    EXPECT_EQ(other.targets, first.targets);
    EXPECT_NEAR(first.loss, std::log(260), 1e-12);
    EXPECT_TRUE(first.has_perplexity);
    EXPECT_EQ(first.accuracy, 1.0);
    EXPECT_EQ(other.accuracy, 0.0);
}

// The model chooses the first token of the context: "x", "y" and "z". The first is right, the second is one of
// two right words, the third is wrong. Each sample has 3 + 2 + 1 + 3 = 9 rows, and each end of an answer is one
// of them.
TEST_F(ZeroModel, AnswersWithTheFirstTokenOfTheContext) {
    corpus_of(folder_, described(data::RowKind::question, bert_bytes()),
              {question("a?b", "x 1", {"no", "X!"}), question("c?d", "y 2", {"y 2"}),
               question("e?f", "z 3", {"three"})});

    const records::Evaluation evaluation = evaluate("bert-tiny");

    EXPECT_EQ(evaluation.targets, 3U);
    EXPECT_NEAR(evaluation.loss, std::log(9), 1e-12);
    EXPECT_DOUBLE_EQ(evaluation.exact_match.value(), 1.0 / 3);
    EXPECT_DOUBLE_EQ(evaluation.f1.value(), (1 + 2.0 / 3) / 3);
    EXPECT_FALSE(evaluation.accuracy.has_value());
    EXPECT_FALSE(evaluation.has_perplexity);
}

TEST(Evaluation, IsDescribedByTheScoresItHas) {
    EXPECT_EQ(records::describe({.loss = std::log(2), .has_perplexity = true}), "loss 0.6931  perplexity 2.00");
    EXPECT_EQ(records::describe({.loss = 0.25, .accuracy = 0.5}), "loss 0.2500  accuracy 50.0 %");
    EXPECT_EQ(records::describe({.loss = 1, .exact_match = 0.612, .f1 = 0.7034}),
              "loss 1.0000  exact match 61.2 %  F1 70.3 %");
}

}  // namespace
}  // namespace trireme::rank
