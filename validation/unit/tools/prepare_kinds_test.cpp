// Tests corpora of labelled texts, questions and images.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <sstream>

#include "trireme/data/corpus.hpp"
#include "trireme/tools/stored_files.hpp"
#include "unit/data/image_files.hpp"
#include "unit/tools/prepared.hpp"

namespace trireme::tools {
namespace {

using validation::catch_message;
using validation::cifar_image;
using validation::config_for;
using validation::idx_images;
using validation::idx_labels;
using validation::Outcome;
using validation::refusal;
using validation::run;
using validation::says;
using validation::ScratchFolder;

const std::string two_questions = R"({"data": [{"title": "T", "paragraphs": [{
    "context": "Ann met Bob in Caf\u00e9 Z\u00fcrich.",
    "qas": [{"id": "a", "question": " Who? ", "answers": [{"text": "Ann", "answer_start": 0}]},
            {"id": "b", "question": "Where?", "answers": [{"text": "Z\u00fcrich", "answer_start": 20},
                                                          {"text": "Caf\u00e9 Z\u00fcrich", "answer_start": 15}]},
            {"id": "c", "question": "Why?", "is_impossible": true, "answers": []}]}]}]})";

std::string inspected(const std::string& path) {
    std::ostringstream out;
    inspect(path, true, out);
    return out.str();
}

TEST(PrepareLabelledText, RecordsClassesAndTheirNames) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.jsonl",
                                      "{\"text\": \"buy\", \"kind\": \"spam\"}\n"
                                      "{\"text\": \"\", \"kind\": \"empty\"}\n"
                                      "{\"text\": \"hello\", \"kind\": \"ham\"}\n"
                                      "{\"text\": \"buy!\", \"kind\": \"spam\"}\n");
    config.label = "kind";

    const Outcome outcome = run(config);
    const data::Corpus corpus = data::Corpus::open(config.output);
    const std::string text = inspected(config.output);

    EXPECT_EQ(corpus.info().kind, data::RowKind::labelled_text);
    EXPECT_EQ(corpus.info().class_names, (std::vector<std::string>{"spam", "ham"}));
    EXPECT_EQ(corpus.label(1), 1U);
    EXPECT_EQ(corpus.label(2), 0U);
    EXPECT_EQ(outcome.report.classes, (std::vector<std::uint64_t>{2, 1}));
    EXPECT_TRUE(says(outcome.said, "classes: 2: spam (2), ham (1)\n"));
    EXPECT_TRUE(says(text, "  kind        labelled text\n"));
    EXPECT_TRUE(says(text, "  classes     2: spam (2), ham (1)\n"));
    EXPECT_TRUE(says(text, "  row 1, of class ham, begins\n\n    hello\n"));
}

TEST(PrepareLabelledText, CountsRowsWithoutAClassAsBad) {
    const ScratchFolder folder;
    PrepareConfig config =
        config_for(folder, "a.jsonl",
                   "{\"text\": \"a\", \"label\": 3}\n{\"text\": \"b\"}\n{\"text\": \"c\", \"label\": 0}\n");
    config.label = "label";
    PrepareConfig skipping = config;
    skipping.skip_bad = true;

    EXPECT_TRUE(says(
        refusal(config),
        "a.jsonl:2: the row has no field 'label' with a number, a text, true or false as the class; repair "
        "the row, name another field with --label, or skip bad rows with --skip-bad"));
    EXPECT_EQ(run(skipping).report.skipped_rows, 1U);
    EXPECT_EQ(data::Corpus::open(config.output).info().classes, 4U);
}

TEST(PrepareLabelledText, RejectsRowsOfASingleClass) {
    const ScratchFolder folder;
    PrepareConfig named = config_for(folder, "a.jsonl", "{\"text\": \"a\", \"is_new\": true}\n");
    named.label = "is_new";
    PrepareConfig numbered =
        config_for(folder, "b.jsonl", "{\"text\": \"a\", \"label\": 3}\n{\"text\": \"b\", \"label\": 3}\n");
    numbered.label = "label";

    EXPECT_EQ(
        refusal(named),
        "all rows have the class true, but a model needs at least two classes to learn; name another field "
        "with --label, or remove --label");
    EXPECT_TRUE(says(refusal(numbered), "all rows have the class 3, but a model needs at least two classes"));
    EXPECT_FALSE(std::filesystem::exists(folder.file("c.h5")));
}

TEST(PrepareText, AddsSpecialTokensOnRequest) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.txt", "one");
    config.special_tokens = "bert";

    run(config);

    const data::CorpusInfo info = data::Corpus::open(config.output).info();
    EXPECT_EQ(info.vocabulary_size, 260U);
    EXPECT_EQ(info.special_tokens.classify, 257U);
    EXPECT_EQ(info.special_tokens.separator, 258U);
    EXPECT_EQ(info.special_tokens.mask, 259U);
    config.special_tokens = "t5";
    EXPECT_TRUE(says(refusal(config), "--special-tokens 't5' is unknown; choose none or bert"));
}

TEST(PrepareQuestions, KeepsPositionsAndAnswers) {
    const ScratchFolder folder;
    const PrepareConfig config = config_for(folder, "a.json", two_questions);

    const Outcome outcome = run(config);
    const data::Corpus corpus = data::Corpus::open(config.output);
    const data::Question where = corpus.read_question(1);
    std::vector<std::uint32_t> tokens;
    corpus.read(1, tokens);

    EXPECT_EQ(corpus.info().kind, data::RowKind::question);
    EXPECT_EQ(corpus.info().special_tokens.mask, 259U);
    EXPECT_EQ(corpus.read_question(0).context_begin, 4U);
    EXPECT_EQ(where.context_begin, 6U);
    EXPECT_EQ(where.answers, (std::vector<std::string>{"Z\u00fcrich", "Caf\u00e9 Z\u00fcrich"}));
    EXPECT_EQ(corpus.read_tokenizer().decode(
                  std::span(tokens).subspan(where.answer_first, where.answer_last - where.answer_first + 1)),
              "Z\u00fcrich");
    EXPECT_EQ(outcome.report.unanswerable_questions, 1U);
    EXPECT_TRUE(says(outcome.said, "c.h5: 2 questions, 68 tokens, tokenizer "));
    EXPECT_TRUE(says(outcome.said, "tokens per question: min 4, p50 4, p90 6, p99 6, max 6\n"));
    EXPECT_TRUE(says(outcome.said, "tokens per context: min 29, p50 29,"));
    EXPECT_TRUE(says(outcome.said, "1 question without an answer skipped\n"));
}

TEST(PrepareQuestions, LetsInspectShowQuestionsWithTheirAnswers) {
    const ScratchFolder folder;
    const PrepareConfig config = config_for(folder, "a.json", two_questions);
    run(config);

    const std::string text = inspected(config.output);

    EXPECT_TRUE(says(text, "  kind        question\n"));
    EXPECT_TRUE(says(text, "end token 256, [CLS] 257, [SEP] 258, [MASK] 259\n"));
    EXPECT_TRUE(says(text, "  row 1 has the question\n\n    Where?\n"));
    EXPECT_TRUE(says(text, "  with the answer in tokens 27 to 33 of the row\n\n    Z\u00fcrich\n"));
    EXPECT_TRUE(says(text, "    Z\u00fcrich\n    Caf\u00e9 Z\u00fcrich\n"));
    EXPECT_TRUE(says(text, "verified"));
}

TEST(PrepareQuestions, FiltersByIdAndTitle) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.json", two_questions);
    config.row_filter = "id=b";
    PrepareConfig unmatched = config;
    unmatched.row_filter = "title=U";

    EXPECT_EQ(run(config).report.rows, 1U);
    EXPECT_TRUE(says(refusal(unmatched),
                     "0 of 2 rows match --where 'title=U'; the first distinct values of title are 'T'"));
}

TEST(PrepareQuestions, CountsAnswersMissingFromTheContextAsBad) {
    const ScratchFolder folder;
    std::string json = two_questions;
    json.replace(json.find("\"text\": \"Ann\""), 13, "\"text\": \"Eve\"");
    PrepareConfig config = config_for(folder, "a.json", json);
    PrepareConfig skipping = config;
    skipping.skip_bad = true;

    EXPECT_TRUE(says(refusal(config), "a.json, question a: its answer 'Eve' is not in its context; repair"));
    EXPECT_EQ(run(skipping).report.skipped_rows, 1U);
}

TEST(PrepareQuestions, TrainsATokenizer) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.json", two_questions);
    config.tokenizer = "train:258";  // one merge

    run(config);

    EXPECT_EQ(data::Corpus::open(config.output).info().vocabulary_size, 261U);
}

TEST(PrepareImages, KeepsPixelsAndLabels) {
    const ScratchFolder folder;
    const PrepareConfig config = config_for(folder, "a.bin", cifar_image(3, 7) + cifar_image(9, 255));

    const Outcome outcome = run(config);
    const data::Corpus corpus = data::Corpus::open(config.output);
    std::vector<std::uint8_t> pixels;
    corpus.read_image(1, pixels);
    const std::string text = inspected(config.output);

    EXPECT_EQ(pixels, std::vector<std::uint8_t>(3072, 255));
    EXPECT_EQ(corpus.label(0), 3U);
    EXPECT_EQ(corpus.info().class_names.at(9), "truck");
    EXPECT_TRUE(says(outcome.said, "c.h5: 2 images of 3 x 32 x 32 pixels\n"));
    EXPECT_TRUE(says(outcome.said, "classes: 10: airplane (0), automobile (0), bird (0), cat (1), deer (0), "));
    EXPECT_TRUE(says(text, "  rows        2, images of 3 x 32 x 32 pixels\n  classes     10: airplane (0)"));
    EXPECT_TRUE(says(text, "  row 1, of class truck, looks like\n\n    " + std::string(32, '@') + '\n'));
    EXPECT_EQ(text.find("tokenizer"), std::string::npos);
}

TEST(PrepareQuestions, ReportsHowManyAnswersWereMoved) {
    const ScratchFolder folder;
    std::string moved = two_questions;
    moved.replace(moved.find("\"answer_start\": 20"), 18, "\"answer_start\": 18");
    const PrepareConfig as_said = config_for(folder, "a.json", two_questions);
    const PrepareConfig elsewhere = config_for(folder, "b.json", moved);

    const Outcome untouched = run(as_said);
    const Outcome outcome = run(elsewhere);

    EXPECT_EQ(untouched.report.moved_answers, 0U);
    EXPECT_EQ(untouched.said.find("answer_start"), std::string::npos);
    EXPECT_EQ(outcome.report.moved_answers, 1U);
    EXPECT_TRUE(
        says(outcome.said, "1 answer moved from `answer_start` to the nearest place with the same text"));
}

TEST(PrepareQuestions, AdvisesOnQuestionsInsteadOfRows) {
    const ScratchFolder folder;
    std::string beyond = two_questions;
    beyond.replace(beyond.find("\"answer_start\": 20"), 18, "\"answer_start\": 90");

    EXPECT_TRUE(says(refusal(config_for(folder, "a.json", beyond)),
                     "a.json, question b: its `answer_start` is 90, beyond the end of its context; repair the "
                     "question, or skip bad questions with --skip-bad"));
}

TEST(PrepareImages, AdvisesOnImagesInsteadOfRows) {
    const ScratchFolder folder;

    EXPECT_TRUE(says(refusal(config_for(folder, "a.bin", cifar_image(10, 0))),
                     "classes, 0 to 9; copy the file again, or skip bad images with --skip-bad"));
}

TEST(PrepareImages, RejectsMnistOfASingleClass) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "i-ubyte", idx_images(2, 1, 1, "ab"));
    config.inputs.push_back(folder.write("l-ubyte", idx_labels(2, "\2\2")));

    EXPECT_EQ(
        refusal(config),
        "all rows have the class 2, but a model needs at least two classes to learn; add images of another "
        "class");
}

TEST(PrepareImages, NamesMnistClassesByTheirNumbers) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "i-ubyte", idx_images(2, 1, 1, "ab"));
    config.inputs.push_back(folder.write("l-ubyte", idx_labels(2, "\2\1")));

    const Outcome outcome = run(config);

    EXPECT_EQ(data::Corpus::open(config.output).info().classes, 3U);
    EXPECT_TRUE(says(outcome.said, "classes: 3: 0 (0), 1 (1), 2 (1)\n"));
}

TEST(PrepareKinds, RejectsOptionsThatDoNotApply) {
    const ScratchFolder folder;
    const PrepareConfig images = config_for(folder, "a.bin", cifar_image(0, 0));
    const PrepareConfig questions = config_for(folder, "a.json", two_questions);
    const auto with = [](PrepareConfig config, auto PrepareConfig::*option, auto value) {
        config.*option = value;
        return refusal(config);
    };

    EXPECT_EQ(
        with(images, &PrepareConfig::tokenizer, "bytes"),
        "--tokenizer does not apply to images, which " + images.inputs[0] + " contains; remove --tokenizer");
    EXPECT_TRUE(says(with(images, &PrepareConfig::row_filter, "a=b"), "--where does not apply to images"));
    EXPECT_TRUE(says(with(images, &PrepareConfig::label, "a"), "--label does not apply to images"));
    EXPECT_TRUE(
        says(with(images, &PrepareConfig::rows, data::RowUnit::line), "--rows does not apply to images"));
    EXPECT_TRUE(says(with(images, &PrepareConfig::special_tokens, "bert"), "--special-tokens does not apply"));
    EXPECT_TRUE(says(with(questions, &PrepareConfig::label, "a"), "--label does not apply to SQuAD questions"));
    EXPECT_TRUE(
        says(with(questions, &PrepareConfig::rows, data::RowUnit::line), "--rows does not apply to SQuAD"));
}

TEST(PrepareKinds, AcceptsRealFiles) {
    const char* data = std::getenv("TRIREME_TEST_DATA");
    if (data == nullptr) GTEST_SKIP() << "TRIREME_TEST_DATA is not set: squad/ and images/ are not there";
    const ScratchFolder folder;
    PrepareConfig squad;
    squad.inputs = {std::string(data) + "/squad/xquad.en.json"};
    squad.tokenizer = std::string("gpt2:") + data + "/gpt2_bpe";
    squad.output = folder.file("squad.h5");
    PrepareConfig cifar;
    cifar.inputs = {std::string(data) + "/images/cifar10_test_500.bin"};
    cifar.output = folder.file("cifar.h5");

    const PrepareReport questions = run(squad).report;
    const PrepareReport images = run(cifar).report;

    EXPECT_EQ(questions.rows, 1190U);
    EXPECT_EQ(questions.skipped_rows, 0U);
    EXPECT_EQ(images.rows, 500U);
    EXPECT_EQ(std::accumulate(images.classes.begin(), images.classes.end(), std::uint64_t{0}), 500U);
    EXPECT_TRUE(says(inspected(squad.output), "verified"));
    EXPECT_TRUE(says(inspected(cifar.output), "verified"));
}

}  // namespace
}  // namespace trireme::tools
