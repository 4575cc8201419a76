#include "trireme/data/source.hpp"

#include <gtest/gtest.h>

#include "data/source/text_files.hpp"
#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/gzipped.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::compress_gzip;
using validation::says;
using validation::ScratchFolder;

SourceRow parsed(std::string_view line) {
    SourceRow row;
    parse_json_row(line, row);
    return row;
}

std::vector<std::string> texts_of(const std::string& path, RowUnit unit = RowUnit::paragraph) {
    RowReader reader({.inputs = {path}, .unit = unit, .synthetic = "", .count = 0, .seed = 0});
    std::vector<std::string> texts;
    SourceRow row;
    while (reader.next(row)) texts.emplace_back(row.text());
    return texts;
}

RowReader reader_of(std::vector<std::string> inputs) {
    return RowReader(
        {.inputs = std::move(inputs), .unit = RowUnit::line, .synthetic = "", .count = 0, .seed = 0});
}

using Texts = std::vector<std::string>;

TEST(JsonRow, ReadsTheFullFunctionUnderBothFieldNamings) {
    const SourceRow original =
        parsed(R"({"repo": "a/b", "original_string": "whole", "code": "part", "docstring": "d"})");
    const SourceRow hub =
        parsed(R"({"repository_name": "a/b", "func_code_string": "part", "whole_func_string": "whole"})");

    EXPECT_EQ(original.text(), "whole");
    EXPECT_EQ(hub.text(), "whole");
    EXPECT_EQ(parsed(R"({"code": "c"})").text(), "c");
    EXPECT_EQ(parsed(R"({"func_code_string": "c"})").text(), "c");
    EXPECT_EQ(parsed(R"({"text": "t", "code": "c"})").text(), "c");
    EXPECT_EQ(parsed(R"({"text": "t"})").text(), "t");
}

TEST(JsonRow, SkipsNestedValues) {
    const SourceRow row =
        parsed(R"({"code_tokens": ["a", {"text": "no"}], "meta": {"code": "no"}, "n": 3, "text": "yes"})");

    ASSERT_EQ(row.fields.size(), 2U);
    EXPECT_EQ(row.fields[0].name, "n");
    EXPECT_EQ(row.fields[0].value, "3");
    EXPECT_EQ(row.text(), "yes");
}

TEST(JsonRow, DecodesEscapes) {
    EXPECT_EQ(parsed(R"({"text": "a\n\"\u00e9\ud83d\ude00"})").text(), "a\n\"\u00e9\U0001F600");
}

TEST(JsonRow, ReadsIds) {
    const SourceRow row = parsed(R"({"url": "u", "n": 3, "ids": [4299, 0, 4294967295]})");

    EXPECT_TRUE(row.has_ids);
    EXPECT_EQ(row.token_ids, (std::vector<std::uint32_t>{4299, 0, 4294967295U}));
    EXPECT_EQ(row.fault, "");
}

TEST(JsonRow, DescribesEachFault) {
    EXPECT_TRUE(says(parsed(R"({"text": "a)").fault, "broken JSON at byte 12: syntax error"));
    EXPECT_TRUE(says(parsed(R"({"text": "a"} {)").fault, "broken JSON at byte 15"));
    EXPECT_TRUE(says(parsed("{\"text\": \"\xFF\"}").fault, "ill-formed UTF-8"));
    EXPECT_TRUE(says(parsed(R"(["a"])").fault, "the row is a list, not an object"));
    EXPECT_TRUE(says(parsed("3").fault, "the row is a single value, not an object"));
    EXPECT_TRUE(says(parsed(R"({"n": 3, "title": "t"})").fault,
                     "fields whole_func_string, original_string, code, func_code_string, text, and no list "
                     "`ids`; its fields are n, title"));
    EXPECT_TRUE(says(parsed(R"({"text": 5})").fault, "the row has no text"));
    EXPECT_TRUE(says(parsed(R"({"ids": [1, -2]})").fault, "`ids` holds -2 at position 1"));
    EXPECT_TRUE(says(parsed(R"({"ids": [1, 2.5]})").fault, "`ids` holds 2.5 at position 1"));
    EXPECT_TRUE(says(parsed(R"({"ids": [4294967296]})").fault, "`ids` holds 4294967296 at position 0"));
    EXPECT_TRUE(says(parsed(R"({"ids": ["a"]})").fault, "`ids` holds a string at position 0"));
    EXPECT_TRUE(says(parsed(R"({"ids": [1, null, 2]})").fault, "`ids` holds null at position 1"));
    EXPECT_TRUE(says(parsed(R"({"ids": [1, 2, true]})").fault, "`ids` holds true at position 2"));
    EXPECT_TRUE(says(parsed(R"({"ids": [false]})").fault, "`ids` holds false at position 0"));
    EXPECT_EQ(parsed(R"({"ids": [1], "ids": [2]})").fault, "the row has `ids` twice");
    EXPECT_EQ(parsed(R"({"ids": null, "ids": [2]})").fault, "the row has `ids` twice");
}

TEST(RowReader, NamesTheLineOfABadRowAndContinues) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.jsonl", "{\"text\": \"one\"}\n\n{\"text\n{\"text\": \"four\"}");
    RowReader reader = reader_of({path});
    SourceRow row;

    ASSERT_TRUE(reader.next(row));
    EXPECT_EQ(row.location, path + ":1");
    ASSERT_TRUE(reader.next(row));
    EXPECT_EQ(row.location, path + ":3");
    EXPECT_TRUE(says(row.fault, "broken JSON"));
    ASSERT_TRUE(reader.next(row));
    EXPECT_EQ(row.fault, "");
    EXPECT_EQ(row.text(), "four");
    EXPECT_FALSE(reader.next(row));
}

TEST(RowReader, RecognizesGzipByItsContent) {
    const ScratchFolder folder;
    const std::string lines = "{\"text\": \"one\"}\r\n{\"text\": \"two\"}\n";

    EXPECT_EQ(texts_of(folder.write("a.jsonl.gz", compress_gzip(lines))), Texts({"one", "two"}));
    EXPECT_EQ(texts_of(folder.write("packed.jsonl", compress_gzip(lines))), Texts({"one", "two"}));
    EXPECT_EQ(texts_of(folder.write("plain.jsonl.gz", lines)), Texts({"one", "two"}));
    EXPECT_EQ(texts_of(folder.write("no_extension", compress_gzip(lines))), Texts({"one", "two"}));
}

TEST(RowReader, ReadsLinesLongerThanItsBuffer) {
    const ScratchFolder folder;
    const std::string text(1'000'000, 'x');

    const Texts texts = texts_of(folder.write("a.jsonl", "{\"text\": \"" + text + "\"}\n{\"text\": \"b\"}"));

    EXPECT_EQ(texts, Texts({text, "b"}));
}

TEST(InputFile, RejectsALineThatIsTooLong) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.txt", "one\ntwelve");
    const std::string long_line = folder.write("b.txt", std::string(1'000'000, 'x'));  // in several portions
    std::string line;

    InputFile file(path);
    EXPECT_TRUE(file.next_line(line, 5));
    EXPECT_EQ(line, "one");
    EXPECT_EQ(catch_message<ConfigError>([&] { file.next_line(line, 5); }),
              path +
                  ":2 is a line of more than 5 bytes, all of which would have to be in memory at once; is it "
                  "the right file?");
    InputFile fits(long_line);
    EXPECT_TRUE(fits.next_line(line, 1'000'000));
    EXPECT_EQ(line.size(), 1'000'000U);
    InputFile beyond(long_line);
    EXPECT_TRUE(says(catch_message<ConfigError>([&] { beyond.next_line(line, 999'999); }), "more than 999999"));
}

TEST(PlainText, RejectsARowThatIsTooLong) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.txt", "one\n\none\ntwo\nthree\n");
    const auto refusal = [&](RowUnit unit) {
        PlainText text(InputFile(path), unit, 7);
        SourceRow row;
        return catch_message<ConfigError>([&] {
            while (text.next(row)) {
            }
        });
    };

    EXPECT_EQ(refusal(RowUnit::paragraph),
              "the paragraph at " + path +
                  ":3 has more than 7 bytes without a blank line; split it, or prepare it with --rows line");
    EXPECT_TRUE(says(refusal(RowUnit::file), "a.txt holds more than 7 bytes, unpacked"));
    EXPECT_EQ(refusal(RowUnit::line), "(no error)");
}

TEST(RowReader, ReportsATruncatedGzipFile) {
    const ScratchFolder folder;
    std::string lines;
    for (int line = 0; line < 1000; ++line)
        lines += "{\"text\": \"line " + std::to_string(line * 7919) + "\"}\n";
    const std::string packed = compress_gzip(lines);
    const std::string path = folder.write("a.jsonl.gz", packed.substr(0, packed.size() / 2));

    const std::string message = catch_message<ConfigError>([&] { texts_of(path); });

    EXPECT_TRUE(says(message, path + " cannot be read after "));
    EXPECT_TRUE(says(message, "unexpected end of file); copy it again"));
}

TEST(RowReader, SplitsPlainTextIntoLinesParagraphsOrFiles) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.txt", "{a\nb\r\n\n \t\n\nc\xFF\n");

    EXPECT_EQ(texts_of(path, RowUnit::line), Texts({"{a", "b", " \t", "c\xFF"}));
    EXPECT_EQ(texts_of(path, RowUnit::paragraph), Texts({"{a\nb", "c\xFF"}));
    EXPECT_EQ(texts_of(path, RowUnit::file), Texts({"{a\nb\r\n\n \t\n\nc\xFF\n"}));
}

TEST(RowReader, SkipsAByteOrderMark) {
    const ScratchFolder folder;

    EXPECT_EQ(texts_of(folder.write("a.jsonl", "\xEF\xBB\xBF{\"text\": \"one\"}")), Texts({"one"}));
}

TEST(RowReader, SaysWhyAnInputCannotBeRead) {
    const ScratchFolder folder;
    const std::string parquet = folder.write("a.parquet", "PAR1....");
    const auto message = [](const std::string& path) {
        return catch_message<ConfigError>([&] {
            SourceRow row;
            reader_of({path}).next(row);
        });
    };

    EXPECT_TRUE(says(message("/nowhere/a.jsonl"), "the input /nowhere/a.jsonl does not exist"));
    EXPECT_TRUE(says(message(folder.file("")), "is a folder; name its files"));
    EXPECT_TRUE(
        says(message(parquet), "is a Parquet file, which cannot be prepared; write its rows as JSON lines"));
    EXPECT_TRUE(says(catch_message<ConfigError>([] { reader_of({}); }), "there is nothing to prepare"));
}

TEST(RowReader, ReportsAMissingInputBeforeReadingAny) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.jsonl", "{\"text\": \"one\"}");

    EXPECT_TRUE(says(catch_message<ConfigError>([&] {
                         reader_of({path, "/nowhere/b.jsonl"});
                     }),
                     "/nowhere/b.jsonl"));
}

TEST(RowReader, ReportsItsProgress) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.jsonl", "{\"text\": \"one\"}\n");
    RowReader reader = reader_of({path, path});
    SourceRow row;

    while (reader.next(row)) EXPECT_LE(reader.fraction_read(), 1.0);

    EXPECT_EQ(reader.fraction_read(), 1.0);
    EXPECT_EQ(reader.bytes_read(), 32U);
}

}  // namespace
}  // namespace trireme::data
