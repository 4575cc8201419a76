#include <gtest/gtest.h>

#include <cstdlib>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/source.hpp"
#include "unit/data/gzipped.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::compress_gzip;
using validation::says;
using validation::ScratchFolder;

RowReader squad_reader(const std::string& path) {
    return RowReader({.inputs = {path}, .format = SourceFormat::squad, .synthetic = ""});
}

std::vector<SourceRow> read_rows(const std::string& path) {
    RowReader reader = squad_reader(path);
    std::vector<SourceRow> rows;
    SourceRow row;
    while (reader.next(row)) rows.push_back(row);
    return rows;
}

// Returns a file of one paragraph; `questions` is the content of its list `qas`.
std::string squad(const std::string& context, const std::string& questions) {
    return R"({"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": ")" + context +
           R"(", "qas": [)" + questions + "]}]}]}";
}

std::string question(const std::string& answers, const std::string& text = "Who?") {
    return R"({"id": "q1", "question": ")" + text + R"(", "answers": [)" + answers + "]}";
}

std::string answer(const std::string& text, int start) {
    return R"({"text": ")" + text + R"(", "answer_start": )" + std::to_string(start) + "}";
}

SourceRow only_row(const std::string& json) {
    const ScratchFolder folder;
    const std::vector<SourceRow> rows = read_rows(folder.write("a.json", json));
    return rows.size() == 1 ? rows[0] : SourceRow{};
}

std::string answered(const SourceRow& row) {
    return row.question.context.substr(row.question.answer_begin,
                                       row.question.answer_end - row.question.answer_begin);
}

TEST(Squad, GivesARowForEveryQuestion) {
    const ScratchFolder folder;
    const std::string path = folder.write(
        "a.json",
        squad("one two three", question(answer("two", 4)) + "," + question(answer("one", 0), "First?")));

    const std::vector<SourceRow> rows = read_rows(path);

    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].location, path + ", question q1");
    EXPECT_EQ(rows[0].question.text, "Who?");
    EXPECT_EQ(rows[0].question.context, "one two three");
    EXPECT_EQ(rows[0].question.answer_begin, 4U);
    EXPECT_EQ(rows[0].question.answer_end, 7U);
    EXPECT_EQ(rows[0].find("title")->value, "T");
    EXPECT_EQ(answered(rows[1]), "one");
}

TEST(Squad, CountsCharactersNotBytes) {
    const SourceRow row =
        only_row(squad("\u00e9\U0001F600 caf\u00e9 x caf\u00e9", question(answer("caf\u00e9", 10))));

    EXPECT_EQ(row.question.answer_begin, 15U);  // 2 + 4 + 1 + 5 + 1 + 1 + 1 bytes before the second one
    EXPECT_EQ(answered(row), "caf\u00e9");
}

TEST(Squad, TrimsQuestionsAndAnswers) {
    const SourceRow row = only_row(squad("one two one", question(answer(" one ", 7), " Which?\\n")));

    EXPECT_EQ(row.question.text, "Which?");
    EXPECT_EQ(row.question.answer_begin, 8U);
    EXPECT_EQ(row.question.answers, std::vector<std::string>{"one"});
}

TEST(Squad, KeepsDistinctAnswers) {
    const SourceRow row = only_row(
        squad("one two", question(answer("two", 4) + "," + answer("one two", 0) + "," + answer("two ", 4))));

    EXPECT_EQ(row.question.answers, (std::vector<std::string>{"two", "one two"}));
}

TEST(Squad, FindsTheOccurrenceNearestToTheAnswerStart) {
    const std::string context = "one two one two one";

    EXPECT_EQ(only_row(squad(context, question(answer("one", 7)))).question.answer_begin, 8U);
    EXPECT_EQ(only_row(squad(context, question(answer("one", 10)))).question.answer_begin, 8U);
    EXPECT_EQ(only_row(squad(context, question(answer("one", 18)))).question.answer_begin, 16U);
    EXPECT_TRUE(only_row(squad(context, question(answer("one", 18)))).question.is_answer_moved);
    EXPECT_FALSE(only_row(squad(context, question(answer("one", 16)))).question.is_answer_moved);
    EXPECT_FALSE(only_row(squad(context, question(answer(" one", 15)))).question.is_answer_moved);
}

TEST(Squad, SkipsAndCountsQuestionsWithoutAnAnswer) {
    const ScratchFolder folder;
    const std::string impossible = R"({"id": "q0", "question": "Why?", "is_impossible": true, "answers": [],
                                       "plausible_answers": [{"text": "no", "answer_start": 0}]})";
    const std::string path =
        folder.write("a.json", squad("one two", impossible + "," + question(answer("two", 4))));
    RowReader reader = squad_reader(path);
    SourceRow row;

    ASSERT_TRUE(reader.next(row));
    EXPECT_EQ(row.location, path + ", question q1");
    EXPECT_FALSE(reader.next(row));
    EXPECT_EQ(reader.unanswerable_questions(), 1U);
    EXPECT_EQ(reader.fraction_read(), 1.0);
}

TEST(Squad, AcceptsAContextAfterItsQuestions) {
    const SourceRow row = only_row(R"({"data": [{"paragraphs": [{"qas": [)" + question(answer("two", 4)) +
                                   R"(], "context": "one two"}], "title": "T"}]})");

    EXPECT_EQ(row.fault, "");
    EXPECT_EQ(answered(row), "two");
}

TEST(Squad, SaysWhatIsWrongWithAQuestion) {
    const auto fault = [](const std::string& questions) { return only_row(squad("one two", questions)).fault; };

    EXPECT_EQ(fault(question(answer("three", 4))), "its answer 'three' is not in its context");
    EXPECT_EQ(fault(question("")), "it has no `answers` and is not marked as `is_impossible`");
    EXPECT_EQ(fault(question(answer(" ", 3))), "an answer has no `text`");
    EXPECT_EQ(fault(question(R"({"answer_start": 3})")), "an answer has no `text`");
    EXPECT_EQ(fault(question(R"({"text": "one"})")), "its first answer has no `answer_start` of 0 or more");
    EXPECT_EQ(fault(question(answer("one", -1))), "its first answer has no `answer_start` of 0 or more");
    EXPECT_EQ(fault(question(answer("one\\u0000", 0))), "an answer holds a zero byte");
    EXPECT_EQ(fault(question(answer("one", 7))), "its `answer_start` is 7, beyond the end of its context");
    EXPECT_EQ(fault(question(answer("one", 0), "  ")), "it has no text `question`");
    EXPECT_EQ(only_row(squad("", question(answer("one", 0)))).fault, "its paragraph has no text `context`");
    EXPECT_EQ(only_row(R"({"data": [{"paragraphs": [{"qas": [{}]}]}]})").fault, "it has no text `question`");
}

TEST(Squad, NamesTheNumberOfAQuestionWithoutId) {
    EXPECT_TRUE(
        says(only_row(R"({"data": [{"paragraphs": [{"qas": [{}]}]}]})").location, "a.json, question number 1"));
}

TEST(Squad, RejectsFilesThatAreNotSquad) {
    const auto refusal = [](const std::string& json) {
        return catch_message<ConfigError>([&] { only_row(json); });
    };

    EXPECT_TRUE(says(refusal(squad("one \xFF", "")), "a.json is read as SQuAD, but cannot be parsed: broken"));
    EXPECT_TRUE(says(refusal(R"({"data": [)"), "broken JSON at byte 11"));
    EXPECT_TRUE(says(refusal(R"({"data": []} {)"), "broken JSON at byte 14"));
    EXPECT_TRUE(says(refusal(R"({"text": "a"})"), "a.json is read as SQuAD, but has no list `data`"));
    EXPECT_TRUE(says(refusal(""), "broken JSON"));
    EXPECT_TRUE(
        says(refusal(R"({"data": )" + std::string(1'000'000, '[')), "nested more than 200 levels deep"));
}

TEST(Squad, IsRecognizedByTheContentOfJsonFiles) {
    const ScratchFolder folder;
    const std::string json = squad("one two", question(answer("two", 4)));
    const auto kind = [](const std::string& path) {
        return RowReader({.inputs = {path}, .synthetic = ""}).kind();
    };

    EXPECT_EQ(kind(folder.write("a.json", json)), RowKind::question);
    EXPECT_EQ(kind(folder.write("b.json.gz", compress_gzip("\n" + json))), RowKind::question);
    EXPECT_EQ(kind(folder.write("marked.json", "\xEF\xBB\xBF" + json)), RowKind::question);
    EXPECT_EQ(kind(folder.write("c.json", R"({"data": []})")), RowKind::question);
    EXPECT_EQ(kind(folder.write("d.json", R"({"data": [1, 2], "text": "a"})")), RowKind::text);
    EXPECT_EQ(kind(folder.write("e.json", R"({"meta": {"data": [{}]}, "text": "a"})")), RowKind::text);
    EXPECT_EQ(kind(folder.write("f.jsonl", json)), RowKind::text);
}

TEST(Squad, ReadsEveryQuestionOfARealFile) {
    const char* data = std::getenv("TRIREME_TEST_DATA");
    if (data == nullptr) GTEST_SKIP() << "TRIREME_TEST_DATA is not set: squad/xquad.en.json is not there";

    const std::vector<SourceRow> rows = read_rows(std::string(data) + "/squad/xquad.en.json");

    ASSERT_EQ(rows.size(), 1190U);
    for (const SourceRow& row : rows) {
        ASSERT_EQ(row.fault, "") << row.location;
        ASSERT_EQ(answered(row), row.question.answers.front()) << row.location;
    }
}

}  // namespace
}  // namespace trireme::data
