// Tests that rows with labels, answers or pixels are read back as they were written.
#include <gtest/gtest.h>

#include <numeric>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::bert_bytes;
using validation::catch_message;
using validation::corpus_of;
using validation::describe_image_corpus;
using validation::described;
using validation::image_row;
using validation::labelled_row;
using validation::question_row;
using validation::says;
using validation::ScratchFolder;
using validation::text_row;
using validation::TokenRow;

using Names = std::vector<std::string>;
using Pixels = std::vector<std::uint8_t>;

const Question first_question{
    .context_begin = 2, .answer_first = 3, .answer_last = 4, .answers = {"of them", "them"}};
const Question second_question{
    .context_begin = 0, .answer_first = 0, .answer_last = 0, .answers = {"\xce\xbc"}};

TokenRow tokens_of(const Corpus& corpus, std::uint64_t row) {
    TokenRow out;
    corpus.read(row, out);
    return out;
}

Pixels pixels_of(const Corpus& corpus, std::uint64_t row) {
    Pixels out;
    corpus.read_image(row, out);
    return out;
}

// Returns one byte per pixel of the size, counted up from `first`.
Pixels counted_pixels(const ImageSize& size, std::uint8_t first) {
    Pixels pixels(size.pixels());
    std::iota(pixels.begin(), pixels.end(), first);
    return pixels;
}

TEST(CorpusKinds, HaveReadableNames) {
    EXPECT_STREQ(to_string(RowKind::text), "text");
    EXPECT_STREQ(to_string(RowKind::labelled_text), "labelled text");
    EXPECT_STREQ(to_string(RowKind::question), "question");
    EXPECT_STREQ(to_string(RowKind::image), "image");
}

TEST(LabelledTexts, AreReadBackWithTheirClasses) {
    const ScratchFolder folder;
    const Corpus corpus =
        corpus_of(folder, described(RowKind::labelled_text, bert_bytes()),
                  {labelled_row({1, 2}, 0), labelled_row({}, 2), labelled_row({3}, 1)}, {"bad", "so", "good"});

    EXPECT_EQ(corpus.info().kind, RowKind::labelled_text);
    EXPECT_EQ(corpus.info().classes, 3U);
    EXPECT_EQ(corpus.info().class_names, (Names{"bad", "so", "good"}));
    EXPECT_EQ(corpus.label(0), 0U);
    EXPECT_EQ(corpus.label(1), 2U);
    EXPECT_EQ(corpus.label(2), 1U);
    EXPECT_EQ(tokens_of(corpus, 2), TokenRow{3});
    EXPECT_NO_THROW(corpus.verify());
}

TEST(LabelledTexts, HaveOneClassMoreThanTheLargestLabel) {
    const ScratchFolder folder;

    const Corpus corpus = corpus_of(folder, described(RowKind::labelled_text, bert_bytes()),
                                    {labelled_row({1}, 4), labelled_row({2}, 0)});

    EXPECT_EQ(corpus.info().classes, 5U);
    EXPECT_TRUE(corpus.info().class_names.empty());
}

TEST(LabelledTexts, MayHaveClassesWithoutRows) {
    const ScratchFolder folder;

    const Corpus corpus =
        corpus_of(folder, described(RowKind::labelled_text, bert_bytes()), {labelled_row({1}, 0)}, {"a", "b"});

    EXPECT_EQ(corpus.info().classes, 2U);
}

// The names have more than 64 KiB, and one name has every character that could be a separator.
TEST(LabelledTexts, KeepManyClassNamesWithAnyCharacters) {
    const ScratchFolder folder;
    Names names(9'000, "a class of no importance");
    names[1] = std::string("\n\",\\ \t\0\xce\xbc", 9);

    const Corpus corpus =
        corpus_of(folder, described(RowKind::labelled_text, bert_bytes()), {labelled_row({1}, 8'999)}, names);

    EXPECT_EQ(corpus.info().class_names, names);
    EXPECT_EQ(corpus.label(0), 8'999U);
}

TEST(Questions, AreReadBackWithPositionsAndAnswers) {
    const ScratchFolder folder;
    const Corpus corpus =
        corpus_of(folder, described(RowKind::question, bert_bytes()),
                  {question_row({1, 2, 3, 4, 5}, first_question), question_row({9}, second_question)});

    const Question first = corpus.read_question(0);
    const Question second = corpus.read_question(1);

    EXPECT_EQ(first.context_begin, 2U);
    EXPECT_EQ(first.answer_first, 3U);
    EXPECT_EQ(first.answer_last, 4U);
    EXPECT_EQ(first.answers, (Names{"of them", "them"}));
    EXPECT_EQ(second.answers, (Names{"\xce\xbc"}));
    EXPECT_EQ(tokens_of(corpus, 0), (TokenRow{1, 2, 3, 4, 5}));
    EXPECT_NO_THROW(corpus.verify());
}

TEST(Questions, KeepEmptyAnswersAndRowsWithoutAnswers) {
    const ScratchFolder folder;
    const auto with = [](Names answers) {
        return question_row(
            {1}, {.context_begin = 0, .answer_first = 0, .answer_last = 0, .answers = std::move(answers)});
    };

    const Corpus corpus = corpus_of(folder, described(RowKind::question, bert_bytes()),
                                    {with({}), with({"", "a", ""}), with({})});

    EXPECT_EQ(corpus.read_question(0).answers, Names());
    EXPECT_EQ(corpus.read_question(1).answers, (Names{"", "a", ""}));
    EXPECT_EQ(corpus.read_question(2).answers, Names());
}

TEST(Questions, GivePositionsWithoutAnswerTexts) {
    const ScratchFolder folder;
    const Corpus corpus = corpus_of(folder, described(RowKind::question, bert_bytes()),
                                    {question_row({1, 2, 3, 4, 5}, first_question)});

    EXPECT_EQ(corpus.find_question_positions(0).answer_last, 4U);
    EXPECT_TRUE(corpus.find_question_positions(0).answers.empty());
}

TEST(Images, AreReadBackByteForByteInAnyOrder) {
    const ScratchFolder folder;
    const ImageSize size{.channels = 3, .height = 4, .width = 5};

    const Corpus corpus =
        corpus_of(folder, describe_image_corpus(size),
                  {image_row(counted_pixels(size, 0), 1), image_row(counted_pixels(size, 200), 0)}, {"a", "b"});

    EXPECT_EQ(corpus.info().kind, RowKind::image);
    EXPECT_EQ(corpus.info().image, size);
    EXPECT_EQ(corpus.info().rows, 2U);
    EXPECT_EQ(corpus.info().tokens, 0U);
    EXPECT_EQ(corpus.info().vocabulary_size, 0U);
    EXPECT_EQ(corpus.row_length(1), 0U);
    EXPECT_EQ(pixels_of(corpus, 1), counted_pixels(size, 200));
    EXPECT_EQ(pixels_of(corpus, 0), counted_pixels(size, 0));
    EXPECT_EQ(corpus.label(0), 1U);
    EXPECT_NO_THROW(corpus.verify());
}

TEST(Images, AreReadBackFromManyChunks) {
    const ScratchFolder folder;
    const ImageSize size{.channels = 1, .height = 100, .width = 300};  // two images per chunk
    CorpusWriter writer(folder.file("c.h5"), describe_image_corpus(size));
    for (std::uint8_t image = 0; image < 21; ++image) writer.add(image_row(counted_pixels(size, image), image));
    writer.finish();

    const Corpus corpus = Corpus::open(folder.file("c.h5"));

    for (std::uint8_t image = 0; image < 21; ++image)
        EXPECT_EQ(pixels_of(corpus, image), counted_pixels(size, image)) << int{image};
}

TEST(CorpusKinds, CanBeOpenedWithoutRows) {
    const ScratchFolder folder;

    EXPECT_EQ(corpus_of(folder, described(RowKind::labelled_text, bert_bytes()), {}).rows(), 0U);
    EXPECT_EQ(corpus_of(folder, described(RowKind::question, bert_bytes()), {}).rows(), 0U);
    EXPECT_EQ(corpus_of(folder, describe_image_corpus({1, 2, 2}), {}).rows(), 0U);
}

TEST(CorpusKinds, StoreTheSpecialTokensOfTheirTokenizer) {
    const ScratchFolder folder;

    const SpecialTokens bert =
        corpus_of(folder, described(RowKind::text, bert_bytes()), {}).info().special_tokens;
    const SpecialTokens plain =
        corpus_of(folder, described(RowKind::text, Tokenizer::make_raw_bytes()), {}).info().special_tokens;

    EXPECT_EQ(bert.end_of_text, 256U);
    EXPECT_EQ(bert.classify, 257U);
    EXPECT_EQ(bert.separator, 258U);
    EXPECT_EQ(bert.mask, 259U);
    EXPECT_EQ(plain.end_of_text, 256U);
    EXPECT_EQ(plain.classify, std::nullopt);
    EXPECT_EQ(plain.mask, std::nullopt);
}

TEST(CorpusKinds, HaveEqualChecksumsOnlyForEqualContents) {
    const ScratchFolder folder;
    const auto sum = [&](const CorpusDescription& description, const CorpusRow& row, Names names = {}) {
        return corpus_of(folder, description, {row}, std::move(names)).info().checksum;
    };
    const CorpusDescription labelled = described(RowKind::labelled_text, bert_bytes());
    const CorpusDescription questions = described(RowKind::question, bert_bytes());
    const CorpusDescription wide = describe_image_corpus({1, 2, 3});
    const CorpusDescription high = describe_image_corpus({1, 3, 2});
    Question other_answer = second_question;
    other_answer.answers = {"m"};

    const std::vector<std::string> sums{sum(described(RowKind::text, bert_bytes()), text_row({1})),
                                        sum(labelled, labelled_row({1}, 0)),
                                        sum(labelled, labelled_row({1}, 1)),
                                        sum(labelled, labelled_row({1}, 0), {"a"}),
                                        sum(labelled, labelled_row({1}, 0), {"b"}),
                                        sum(questions, question_row({1}, second_question)),
                                        sum(questions, question_row({1}, other_answer)),
                                        sum(wide, image_row(Pixels(6, 1), 0)),
                                        sum(high, image_row(Pixels(6, 1), 0)),
                                        sum(wide, image_row(Pixels(6, 2), 0))};

    for (std::size_t one = 0; one < sums.size(); ++one)
        for (std::size_t other = 0; other < one; ++other) EXPECT_NE(sums[one], sums[other]) << one << other;
    EXPECT_EQ(sum(wide, image_row(Pixels(6, 1), 0)), sums[7]);
}

TEST(CorpusKinds, RejectReadsOfDataThatTheyDoNotHold) {
    const ScratchFolder folder;
    const Corpus texts = corpus_of(folder, described(RowKind::text, bert_bytes()), {text_row({1})});
    const ScratchFolder other_folder;
    const Corpus images = corpus_of(other_folder, describe_image_corpus({1, 1, 1}), {image_row({7}, 0)});
    Pixels pixels;
    TokenRow tokens;

    EXPECT_TRUE(
        says(catch_message<BugError>([&] { texts.label(0); }), "rows of the kind \"text\" have no label"));
    EXPECT_THROW(texts.read_question(0), BugError);
    EXPECT_THROW(texts.read_image(0, pixels), BugError);
    EXPECT_THROW(images.read_question(0), BugError);
    EXPECT_THROW(images.read(0, tokens), BugError);
    EXPECT_THROW(images.read_tokenizer(), BugError);
    EXPECT_THROW(images.label(1), BugError);
}

TEST(CorpusWriter, RejectsRowsThatDoNotFitTheirKind) {
    const ScratchFolder folder;
    CorpusWriter images(folder.file("i.h5"), describe_image_corpus({1, 2, 2}));
    CorpusWriter questions(folder.file("q.h5"), described(RowKind::question, bert_bytes()));
    CorpusWriter labelled(folder.file("l.h5"), described(RowKind::labelled_text, bert_bytes()));
    labelled.add(labelled_row({1}, 2));
    const auto places = [](std::uint32_t context, std::uint32_t first, std::uint32_t last) {
        return question_row(
            {1, 2, 3}, {.context_begin = context, .answer_first = first, .answer_last = last, .answers = {}});
    };

    EXPECT_TRUE(says(catch_message<BugError>([&] {
                         images.add(image_row({1, 2, 3}, 0));
                     }),
                     "an image has 3 bytes, not 4"));
    EXPECT_THROW(questions.add(places(1, 0, 1)), BugError);
    EXPECT_THROW(questions.add(places(0, 2, 1)), BugError);
    EXPECT_THROW(questions.add(places(0, 1, 3)), BugError);
    EXPECT_THROW(labelled.add(labelled_row({1}, 0xFFFFFFFF)), BugError);
    EXPECT_THROW(labelled.finish({"a", "b"}), BugError);
    EXPECT_THROW(CorpusWriter(folder.file("n.h5"), describe_image_corpus({})), BugError);
}

TEST(CorpusWriter, RejectsAnAnswerWithAZeroByte) {
    const ScratchFolder folder;
    CorpusWriter questions(folder.file("q.h5"), described(RowKind::question, bert_bytes()));
    Question question = second_question;
    question.answers = {std::string("a\0b", 3)};

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { questions.add(question_row({1}, question)); }),
                     "an answer of row 0 contains a zero byte"));
}

}  // namespace
}  // namespace trireme::data
