#include "trireme/setup/model_choice.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/model/config_json.hpp"
#include "unit/setup/chosen_model.hpp"

namespace trireme::setup {
namespace {

using validation::catch_message;
using validation::chosen;
using validation::corpus_of;
using validation::images_of;
using validation::ModelFromCheckpoint;
using validation::named;
using validation::ScratchFolder;

std::string refusal(const config::ModelChoice& choice, const data::CorpusInfo& corpus,
                    const std::optional<Task>& task = {}) {
    return catch_message<ConfigError>([&] { chosen(choice, corpus, task); });
}

TEST(ModelChoice, IsGpt2ByDefault) {
    const model::ModelConfig model = chosen({});

    EXPECT_EQ(model.name, "gpt2-tiny");
    EXPECT_EQ(model.vocabulary, 257U);  // from the corpus
}

TEST(ModelChoice, TakesEachGivenSize) {
    config::ModelChoice choice = named("llama-tiny");
    choice.layers = 2;
    choice.width = 24;
    choice.heads = 6;
    choice.groups = 3;
    choice.mlp_width = 40;
    choice.positions = 48;
    choice.vocabulary = 300;
    choice.tied = true;
    choice.dropout = 0.25;

    const model::ModelConfig model = chosen(choice);

    EXPECT_EQ(model.layers, 2U);
    EXPECT_EQ(model.width, 24U);
    EXPECT_EQ(model.heads, 6U);
    EXPECT_EQ(model.groups, 3U);
    EXPECT_EQ(model.mlp_width, 40U);
    EXPECT_EQ(model.positions, 48U);
    EXPECT_EQ(model.vocabulary, 300U);
    EXPECT_TRUE(model.tied);
    EXPECT_EQ(model.dropout, 0.25);
    EXPECT_EQ(model.attention_dropout, 0.25);
}

TEST(ModelChoice, KeepsTheMlpFourTimesAsWideAsTheModel) {
    config::ModelChoice choice;
    choice.width = 24;

    EXPECT_EQ(chosen(choice).mlp_width, 96U);
}

TEST(ModelChoice, CountsThePositionsOfAnImageFromItsPatches) {
    config::ModelChoice choice = named("vit-tiny");
    choice.image_size = 8;
    choice.patch = 2;

    const model::ModelConfig model = chosen(choice, images_of(3, 8, 10));

    EXPECT_EQ(model.positions, 17U);
    EXPECT_EQ(model.labels, 10U);
}

TEST(ModelChoice, ReadsAConfigJson) {
    const ScratchFolder folder;
    model::ModelConfig small = model::find_named_model("llama-tiny");
    small.layers = 1;
    small.vocabulary = 257;
    folder.write("config.json", to_config_json(small));
    config::ModelChoice choice = named(folder.file("config.json"));
    choice.positions = 32;

    const model::ModelConfig model = chosen(choice);

    EXPECT_EQ(model.family, model::Family::llama);
    EXPECT_EQ(model.layers, 1U);
    EXPECT_EQ(model.groups, small.groups);
    EXPECT_EQ(model.positions, 32U);
}

TEST(ModelChoice, TakesTheTaskFromTheKindOfTheCorpusRows) {
    data::CorpusInfo labelled = corpus_of(data::RowKind::labelled_text);
    labelled.classes = 3;

    EXPECT_EQ(chosen(named("bert-tiny"), corpus_of(data::RowKind::text)).task, Task::masked);
    EXPECT_EQ(chosen(named("bert-tiny"), corpus_of(data::RowKind::question)).task, Task::span);
    EXPECT_EQ(chosen(named("bert-tiny"), labelled).task, Task::classify);
    EXPECT_EQ(chosen(named("bert-tiny"), labelled).labels, 3U);
    EXPECT_EQ(chosen(named("llama-tiny"), corpus_of(data::RowKind::question)).task, Task::language);
}

TEST(ModelChoice, TakesTheGivenTask) {
    EXPECT_EQ(chosen(named("bert-tiny"), corpus_of(data::RowKind::question), Task::masked).task, Task::masked);
}

TEST(ModelChoice, RejectsATaskThatTheFamilyHasNoHeadFor) {
    EXPECT_EQ(refusal(named("gpt2-tiny"), corpus_of(data::RowKind::text), Task::span),
              "a gpt2 model has no head for the task span; it has heads for: language; choose another --model");
    EXPECT_EQ(refusal(named("bert-tiny"), corpus_of(data::RowKind::text), Task::language),
              "a bert model has no head for the task language; it has heads for: masked, span, classify; "
              "choose another --model");
}

TEST(ModelChoice, RejectsTokensBeyondTheVocabulary) {
    config::ModelChoice choice;
    choice.vocabulary = 100;

    EXPECT_EQ(refusal(choice, corpus_of(data::RowKind::text)),
              "a.h5 has tokens up to 256 (tokenizer bytes), beyond --vocabulary 100; use --vocabulary 257 or "
              "prepare the corpus again");
}

TEST(ModelChoice, RejectsTokensOfADifferentTokenizer) {
    EXPECT_EQ(refusal(named("gpt2"), corpus_of(data::RowKind::text)),
              "a.h5 was made with another tokenizer: bytes has 257 tokens, but gpt2 has 50257; prepare the "
              "corpus with the model's tokenizer, or use --vocabulary 257");
}

TEST(ModelChoice, TakesALargerVocabularyAndTreatsZeroAsTheCorpusSize) {
    config::ModelChoice choice = named("gpt2");
    choice.vocabulary = 50257;
    EXPECT_EQ(chosen(choice).vocabulary, 50257U);

    choice.vocabulary = 0;
    EXPECT_EQ(chosen(choice).vocabulary, 257U);
}

TEST(ModelChoice, RejectsImagesOfADifferentSize) {
    EXPECT_EQ(refusal(named("vit-tiny"), images_of(3, 28, 10)),
              "the images of a.h5 are 3 x 28 x 28 (channels, height, width), but vit-tiny reads 3 x 32 x 32; "
              "use --image-size 28 with a --patch that divides 28, or use other images");
}

TEST(ModelChoice, RejectsImagesWithADifferentNumberOfChannels) {
    config::ModelChoice choice = named("vit-tiny");
    choice.image_size = 28;

    EXPECT_EQ(refusal(choice, images_of(1, 28, 10)),
              "the images of a.h5 are 1 x 28 x 28 (channels, height, width), but vit-tiny reads 3 x 28 x 28; "
              "use --channels 1 and --image-size 28 with a --patch that divides 28, or use other images");
    choice.channels = 1;
    EXPECT_EQ(chosen(choice, images_of(1, 28, 10)).positions, 50U);
}

TEST(ModelChoice, RejectsImagesForATextModel) {
    EXPECT_EQ(refusal(named("llama-tiny"), images_of(3, 32, 10)),
              "a.h5 holds images, which llama-tiny does not read; choose --model vit-tiny or another vit");
}

TEST(ModelChoice, RejectsTextForAnImageModel) {
    EXPECT_EQ(refusal(named("vit-tiny"), corpus_of(data::RowKind::labelled_text)),
              "vit-tiny reads images, but the rows of a.h5 are of the kind labelled text; prepare images "
              "(CIFAR-10, MNIST), or choose another --model");
}

TEST(ModelChoice, RejectsMoreClassesThanLabels) {
    config::ModelChoice choice = named("vit-tiny");
    choice.labels = 7;

    EXPECT_EQ(refusal(choice, images_of(3, 32, 10)),
              "a.h5 has 10 classes, but the model has only 7 labels; use --labels 10");
    choice.labels = 12;
    EXPECT_EQ(chosen(choice, images_of(3, 32, 10)).labels, 12U);
}

TEST(ModelChoice, RejectsClassificationOfACorpusWithoutClasses) {
    EXPECT_EQ(refusal(named("bert-tiny"), corpus_of(data::RowKind::question), Task::classify),
              "a.h5 has no classes: its rows are of the kind question; prepare texts with --label FIELD, or "
              "choose another --task");
}

TEST_F(ModelFromCheckpoint, IsAbsentForInitRandomAndElseHasItsStep) {
    EXPECT_FALSE(open_stored_model("random").has_value());
    EXPECT_EQ(stored(small_bert()).step(), 7U);
}

TEST_F(ModelFromCheckpoint, TakesItsSizesFromTheCheckpoint) {
    const checkpoint::StoredModel bert = stored(small_bert());
    data::CorpusInfo corpus = corpus_of(data::RowKind::labelled_text);
    corpus.classes = 4;

    const model::ModelConfig model = chosen({}, corpus, {}, &bert);

    EXPECT_EQ(model.family, model::Family::bert);
    EXPECT_EQ(model.width, 4U);
    EXPECT_EQ(model.labels, 5U);  // from its head; the corpus uses four of them
}

// A head for another task is new and takes its classes from the corpus.
TEST_F(ModelFromCheckpoint, TakesTheClassesOfTheCorpusForADifferentTask) {
    model::ModelConfig masked = small_bert();
    masked.task = Task::masked;
    masked.labels = 2;
    const checkpoint::StoredModel bert = stored(masked);
    data::CorpusInfo corpus = corpus_of(data::RowKind::labelled_text);
    corpus.classes = 4;

    const model::ModelConfig model = chosen({}, corpus, {}, &bert);

    EXPECT_EQ(model.task, Task::classify);
    EXPECT_EQ(model.labels, 4U);
}

TEST_F(ModelFromCheckpoint, RejectsTokensOfADifferentTokenizer) {
    const checkpoint::StoredModel bert = stored(small_bert());
    data::CorpusInfo corpus = corpus_of(data::RowKind::text);

    corpus.vocabulary_size = 260;
    EXPECT_EQ(
        catch_message<ConfigError>([&] { chosen({}, corpus, {}, &bert); }),
        "a.h5 was made with another tokenizer: bytes has 260 tokens, but bert has 257; prepare the corpus with "
        "the model's tokenizer");
    corpus.vocabulary_size = 200;
    EXPECT_EQ(
        catch_message<ConfigError>([&] { chosen({}, corpus, {}, &bert); }),
        "a.h5 was made with another tokenizer: bytes has 200 tokens, but bert has 257; prepare the corpus with "
        "the model's tokenizer, or use --vocabulary 257 if the corpus already has this tokenizer");
}

TEST_F(ModelFromCheckpoint, RejectsADifferentTokenizerOfEqualSize) {
    const data::Tokenizer bytes = data::Tokenizer::make_raw_bytes();
    const checkpoint::StoredModel bert = stored(small_bert(), bytes.to_bytes());
    data::CorpusInfo corpus = corpus_of(data::RowKind::text);
    corpus.tokenizer_hash = bytes.compute_hash();
    EXPECT_EQ(chosen({}, corpus, {}, &bert).vocabulary, 257U);

    corpus.tokenizer_hash = std::string(64, '0');
    EXPECT_EQ(catch_message<ConfigError>([&] { chosen({}, corpus, {}, &bert); }),
              cat("a.h5 was made with another tokenizer (bytes) than ", bert.path(),
                  " was trained with; prepare it again with --tokenizer ", bert.path(), "/tokenizer.json"));
}

// Hugging Face's BERT has a WordPiece tokenizer, which is not read here.
TEST_F(ModelFromCheckpoint, IsAcceptedIfItsTokenizerIsOfAnUnknownKind) {
    const checkpoint::StoredModel bert = stored(small_bert(), R"({"model": {"type": "WordPiece"}})");

    EXPECT_EQ(chosen({}, corpus_of(data::RowKind::text), {}, &bert).vocabulary, 257U);
}

TEST_F(ModelFromCheckpoint, IsOverriddenByANamedModel) {
    const checkpoint::StoredModel bert = stored(small_bert());

    EXPECT_EQ(chosen(named("bert-tiny"), corpus_of(data::RowKind::text), {}, &bert).width, 128U);
}

}  // namespace
}  // namespace trireme::setup
