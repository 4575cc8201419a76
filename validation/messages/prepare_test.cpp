// The messages of `prepare` and `inspect` about inputs that they cannot use.
#include <sys/stat.h>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class Prepare : public Workplace {
protected:
    void SetUp() override { write("rows.jsonl", "{\"repo\": \"a/b\", \"code\": \"def f(): pass\"}\n"); }
};

TEST_F(Prepare, MakesACorpusThatInspectVerifies) {
    const Outcome made = run("prepare rows.jsonl --quiet --output corpus.h5");
    const Outcome seen = run("inspect corpus.h5 --verify");

    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_EQ(made.out, "");
    EXPECT_EQ(seen.code, 0) << seen.err;
    EXPECT_NE(seen.out.find("rows.jsonl"), std::string::npos) << seen.out;
}

TEST_F(Prepare, RejectsAMissingInput) {
    expect_refusal("prepare none.jsonl --output corpus.h5", {"none.jsonl", "does not exist"});
}

TEST_F(Prepare, RejectsAnEmptySelection) {
    expect_refusal("prepare rows.jsonl --where repo~absent --quiet --output corpus.h5",
                   {"--where", "repo~absent"});
}

TEST_F(Prepare, ReportsABadRowByFileAndLine) {
    write("bad.jsonl", "{\"code\": \"a\"}\n{\"code\": \n");

    expect_refusal("prepare bad.jsonl --quiet --output corpus.h5", {"bad.jsonl", "2", "--skip-bad"});
}

TEST_F(Prepare, RejectsIdsBeyondTheVocabulary) {
    write("ids.jsonl", "{\"ids\": [1, 2, 300]}\n");

    expect_refusal("prepare ids.jsonl --tokenizer bytes --quiet --output corpus.h5",
                   {"ids.jsonl", "300", "257"});
}

TEST_F(Prepare, SkipsRowsWithIdsBeyondTheVocabularyIfRequested) {
    write("ids.jsonl", "{\"ids\": [1, 2]}\n{\"ids\": [300]}\n{\"ids\": [3, 4]}\n");

    const Outcome outcome = run("prepare ids.jsonl --skip-bad --output out.h5");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(outcome.out.find("id 300 is beyond the vocabulary of 257"), std::string::npos) << outcome.out;
}

TEST_F(Prepare, DoesNotOverwriteItsInput) {
    write("rows.txt", "once upon a time\n");

    expect_refusal("prepare rows.txt --output ./rows.txt", {"rows.txt", "--output"});
}

TEST_F(Prepare, RejectsTrainingATokenizerFromAPipe) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);

    expect_refusal("prepare pipe --tokenizer train:300 --output out.h5", {"pipe", "train:300", "file first"});
}

TEST_F(Prepare, RejectsACountForRowsFromAFile) {
    write("rows.txt", "once upon a time\n");

    expect_refusal("prepare rows.txt --count 2 --output out.h5", {"--count", "--synthetic csn"});
}

TEST_F(Prepare, RejectsAnUnknownTokenizer) {
    expect_refusal("prepare rows.jsonl --tokenizer words --quiet --output corpus.h5", {"--tokenizer", "words"});
}

TEST_F(Prepare, RejectsAMissingOutputFolder) {
    expect_refusal("prepare rows.jsonl --quiet --output none/corpus.h5", {"none", "does not exist"});
}

using Inspect = Prepare;

TEST_F(Inspect, DetectsAFlippedBit) {
    make_corpus();
    std::string bytes = read("corpus.h5");
    const std::size_t place = bytes.find(std::string("d\0e\0f\0", 6));
    ASSERT_NE(place, std::string::npos);
    bytes[place] = static_cast<char>(bytes[place] ^ 1);
    write("corpus.h5", bytes);

    const Outcome outcome = run("inspect corpus.h5 --verify");

    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("corpus.h5"), std::string::npos) << outcome.err;
}

TEST_F(Inspect, RejectsAMissingFile) { expect_refusal("inspect none.h5", {"none.h5", "does not exist"}); }

std::string squad(const std::string& answer) {
    return R"({"data": [{"title": "T", "paragraphs": [{"context": "one two", "qas": [
               {"id": "q1", "question": "Which?", "answers": [{"text": ")" +
           answer + R"(", "answer_start": 4}]}]}]}]})";
}

TEST_F(Prepare, MakesACorpusOfQuestionsThatInspectShows) {
    write("squad.json", squad("two"));

    const Outcome made = run("prepare squad.json --output questions.h5");
    const Outcome seen = run("inspect questions.h5 --verify");

    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_NE(made.out.find("1 question, 13 tokens"), std::string::npos) << made.out;
    EXPECT_EQ(seen.code, 0) << seen.err;
    EXPECT_NE(seen.out.find("Which?"), std::string::npos) << seen.out;
}

TEST_F(Prepare, ReportsAQuestionWhoseAnswerIsNotInItsContext) {
    write("squad.json", squad("three"));

    expect_refusal("prepare squad.json --output questions.h5", {"squad.json", "q1", "'three'", "--skip-bad"});
}

TEST_F(Prepare, RejectsATruncatedSquadFile) {
    write("squad.json", squad("two").substr(0, 60));

    expect_refusal("prepare squad.json --output questions.h5", {"squad.json", "SQuAD", "broken JSON"});
}

TEST_F(Prepare, RejectsTruncatedImages) {
    write("images.bin", std::string(3000, '\1'));

    expect_refusal("prepare images.bin --output images.h5", {"images.bin", "3000", "3073"});
}

TEST_F(Prepare, RejectsImagesWithoutLabels) {
    write("images-ubyte", std::string("\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\1a", 17));

    expect_refusal("prepare images-ubyte --output images.h5", {"1 file of images", "0 files of labels"});
}

TEST_F(Prepare, RejectsATokenizerForImages) {
    write("images.bin", std::string(3073, '\1'));

    expect_refusal("prepare images.bin --tokenizer bytes --output images.h5", {"--tokenizer", "images"});
}

TEST_F(Prepare, RejectsAMixOfTextAndImages) {
    write("images.bin", std::string(3073, '\1'));

    expect_refusal("prepare rows.jsonl images.bin --output both.h5", {"one kind", "rows.jsonl", "images.bin"});
}

TEST_F(Prepare, ReportsARowWithoutAClass) {
    expect_refusal("prepare rows.jsonl --label topic --output classes.h5",
                   {"rows.jsonl:1", "'topic'", "--label"});
}

TEST_F(Prepare, RejectsAFormatForSyntheticRows) {
    expect_refusal("prepare --synthetic csn --format squad --output csn.h5", {"--format squad", "--synthetic"});
}

}  // namespace
}  // namespace trireme::messages
