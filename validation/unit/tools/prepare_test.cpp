#include "trireme/tools/prepare.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <new>
#include <sstream>

#include "trireme/data/corpus.hpp"
#include "unit/tools/prepared.hpp"

namespace trireme::tools {
namespace {

using validation::catch_message;
using validation::config_for;
using validation::Outcome;
using validation::refusal;
using validation::run;
using validation::says;
using validation::ScratchFolder;

const std::string rows_of_two = R"({"repo": "apache/spark", "code": "def a(): pass"}
{"repository_name": "other/place", "whole_func_string": "def b(): pass"}
{"repo": "apache/spark", "code": ""}
)";

std::vector<std::string> texts_in(const std::string& path) {
    const data::Corpus corpus = data::Corpus::open(path);
    const data::Tokenizer tokenizer = corpus.read_tokenizer();
    std::vector<std::string> texts;
    std::vector<std::uint32_t> tokens;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) {
        corpus.read(row, tokens);
        texts.push_back(tokenizer.decode(tokens));
    }
    return texts;
}

TEST(Prepare, WritesTheTextsOfBothFieldNamings) {
    const ScratchFolder folder;

    const Outcome outcome = run(config_for(folder, "a.jsonl", rows_of_two));

    EXPECT_EQ(texts_in(folder.file("c.h5")), (std::vector<std::string>{"def a(): pass", "def b(): pass"}));
    EXPECT_EQ(outcome.report.rows, 2U);
    EXPECT_EQ(outcome.report.tokens, 26U);
    EXPECT_EQ(outcome.report.empty_rows, 1U);
    EXPECT_EQ(outcome.report.p50, 13U);
    EXPECT_TRUE(says(outcome.said, "c.h5: 2 rows, 26 tokens, tokenizer bytes (vocabulary 257)"));
    EXPECT_TRUE(says(outcome.said, "1 empty row skipped"));
}

TEST(Prepare, KeepsOnlyTheRowsThatMatchTheFilter) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.jsonl", rows_of_two);
    config.row_filter = "repo~apache/spark";
    config.licence = "Apache-2.0";

    const Outcome outcome = run(config);
    const data::CorpusInfo info = data::Corpus::open(folder.file("c.h5")).info();

    EXPECT_EQ(outcome.report.rows, 1U);
    EXPECT_EQ(outcome.report.filtered_rows, 1U);
    EXPECT_EQ(info.filter, "repo~apache/spark");
    EXPECT_EQ(info.licence, "Apache-2.0");
    EXPECT_EQ(info.source, config.inputs[0]);
}

TEST(Prepare, StopsAtABadRowAndLeavesNoFile) {
    const ScratchFolder folder;
    const PrepareConfig config = config_for(folder, "a.jsonl", "{\"text\": \"a\"}\n{\"text\": \n");

    const std::string message = refusal(config);

    EXPECT_TRUE(says(message, config.inputs[0] + ":2: broken JSON"));
    EXPECT_TRUE(says(message, "repair the row, or skip bad rows with --skip-bad"));
    EXPECT_EQ(folder.names(), std::vector<std::string>{"a.jsonl"});
}

TEST(Prepare, SkipsAndCountsBadRowsOnRequest) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.jsonl", "{\"text\": \"a\"}\n{\"text\": \n{\"n\": 1}\n");
    config.skip_bad = true;

    const Outcome outcome = run(config);

    EXPECT_EQ(outcome.report.rows, 1U);
    EXPECT_EQ(outcome.report.skipped_rows, 2U);
    EXPECT_TRUE(says(outcome.said,
                     "2 bad rows skipped (--skip-bad); the first: " + config.inputs[0] + ":2: broken JSON"));
}

TEST(Prepare, DoesNotOverwriteItsTokenizer) {
    const ScratchFolder folder;
    PrepareConfig file = config_for(folder, "a.jsonl", rows_of_two);
    file.tokenizer = folder.write("tokenizer.json", data::Tokenizer::make_raw_bytes().to_bytes());
    file.output = file.tokenizer;
    PrepareConfig in_folder = file;
    in_folder.tokenizer = "gpt2:" + std::filesystem::path(file.output).parent_path().string();

    const std::string sentence = "--output " + file.output + " would overwrite the tokenizer file " +
                                 file.output + "; name another file";
    EXPECT_EQ(refusal(file), sentence);
    EXPECT_EQ(refusal(in_folder), sentence);
    EXPECT_EQ(validation::read_whole(file.output), data::Tokenizer::make_raw_bytes().to_bytes());
}

TEST(Prepare, DoesNotReplaceAPipe) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.jsonl", rows_of_two);
    config.output = folder.file("pipe");
    ASSERT_EQ(::mkfifo(config.output.c_str(), 0600), 0);

    EXPECT_EQ(refusal(config),
              "--output " + config.output +
                  " exists and is a pipe, a device or a socket, not a regular file; name another file");
    EXPECT_TRUE(std::filesystem::is_fifo(config.output));
}

// Stands in for a machine that runs out of memory at the first output.
class NoMemory : public std::streambuf {
    int_type overflow(int_type) override { throw std::bad_alloc(); }
};

TEST(Prepare, NamesItsInputIfMemoryRunsOut) {
    const ScratchFolder folder;
    NoMemory no_memory;
    std::ostream out(&no_memory);
    out.exceptions(std::ios::badbit);

    const std::string message =
        catch_message<ResourceError>([&] { prepare(config_for(folder, "a.jsonl", rows_of_two), out); });

    EXPECT_TRUE(says(message, "this input needs more memory than the machine has left"));
    EXPECT_EQ(message.find("--batch"), std::string::npos);
}

TEST(Prepare, ExplainsWhyNoRowIsLeft) {
    const ScratchFolder folder;
    PrepareConfig all_bad = config_for(folder, "bad.jsonl", "{\n");
    all_bad.skip_bad = true;
    PrepareConfig unmatched = config_for(folder, "a.jsonl", rows_of_two);
    unmatched.row_filter = "repo~x";

    EXPECT_TRUE(says(refusal(all_bad), "no row can be used; --skip-bad skipped 1 bad row, the first: "));
    EXPECT_TRUE(says(refusal(unmatched),
                     "0 of 3 rows match --where 'repo~x'; the first distinct values of repo are "
                     "'apache/spark', 'other/place'"));
    EXPECT_TRUE(says(refusal(config_for(folder, "empty.jsonl", "")), "the input has no rows"));
    EXPECT_TRUE(says(refusal(config_for(folder, "blank.jsonl", "{\"text\": \"\"}")),
                     "no row contains text (1 empty row); there is nothing to train on"));
    EXPECT_FALSE(std::filesystem::exists(folder.file("c.h5")));
}

TEST(Prepare, RequiresAnOutput) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.jsonl", rows_of_two);
    config.output = "";

    EXPECT_TRUE(says(refusal(config), "prepare needs a file to write; set, for example, --output corpus.h5"));
}

TEST(Prepare, NamesAnIdBeyondTheVocabulary) {
    const ScratchFolder folder;
    const PrepareConfig config = config_for(folder, "a.jsonl", "{\"ids\": [1, 2]}\n{\"ids\": [3, 4299]}\n");

    EXPECT_TRUE(
        says(refusal(config), config.inputs[0] +
                                  ":2: token id 4299 is beyond the vocabulary of 257 tokens (tokenizer bytes); "
                                  "name the tokenizer that made the ids"));
}

TEST(Prepare, TrainsATokenizerOnFilteredRowsOnly) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.jsonl",
                                      "{\"repo\": \"a\", \"text\": \"low low low low\"}\n"
                                      "{\"repo\": \"b\", \"text\": \"zzzzzzzzzzzzzzzz\"}\n");
    config.row_filter = "repo=a";
    config.tokenizer = "train:259";

    const Outcome outcome = run(config);

    EXPECT_EQ(data::Corpus::open(folder.file("c.h5")).info().vocabulary_size, 259U);
    EXPECT_EQ(texts_in(folder.file("c.h5")), std::vector<std::string>{"low low low low"});
    EXPECT_EQ(outcome.report.tokens, 7U);  // "low", then " " and "low" three times
}

TEST(Prepare, RejectsTrainingOnIdRowsOrWithoutASize) {
    const ScratchFolder folder;
    PrepareConfig ids = config_for(folder, "a.jsonl", "{\"ids\": [1, 2]}\n");
    ids.tokenizer = "train:300";
    PrepareConfig many = config_for(folder, "b.jsonl", rows_of_two);
    many.tokenizer = "train:many";

    EXPECT_TRUE(says(refusal(ids), "is a row of token ids, but --tokenizer train:300 needs rows of text"));
    EXPECT_TRUE(says(refusal(many), "'many' is no vocabulary size; write, for example, train:4096"));
}

TEST(Prepare, WritesSyntheticRows) {
    const ScratchFolder folder;
    PrepareConfig config;
    config.synthetic = "csn";
    config.count = 100;
    config.row_filter = "repo~apache/spark";
    config.output = folder.file("c.h5");

    const Outcome outcome = run(config);

    EXPECT_EQ(outcome.report.rows + outcome.report.filtered_rows, 100U);
    EXPECT_GT(outcome.report.rows, 20U);
    EXPECT_EQ(data::Corpus::open(config.output).info().source, "synthetic csn, count 100, seed 1");
}

TEST(Prepare, RejectsSyntheticRowsWithInputsOrUnknownNames) {
    const ScratchFolder folder;
    PrepareConfig both = config_for(folder, "a.jsonl", rows_of_two);
    both.synthetic = "csn";
    PrepareConfig unknown;
    unknown.synthetic = "wiki";
    unknown.output = folder.file("c.h5");

    EXPECT_TRUE(says(refusal(both), "--synthetic generates its own rows, but the input "));
    EXPECT_TRUE(says(refusal(unknown), "--synthetic 'wiki' is unknown; use --synthetic csn"));
}

TEST(Prepare, SaysNothingWhenQuiet) {
    const ScratchFolder folder;
    PrepareConfig config = config_for(folder, "a.jsonl", rows_of_two);
    config.quiet = true;

    EXPECT_EQ(run(config).said, "");
}

TEST(Prepare, AcceptsTheRebuiltCodeSearchNetRows) {
    const char* data = std::getenv("TRIREME_TEST_DATA");
    if (data == nullptr)
        GTEST_SKIP() << "TRIREME_TEST_DATA is not set: the rebuilt rows of apache/spark are not there";
    const ScratchFolder folder;
    PrepareConfig config;
    config.inputs = {std::string(data) + "/csn_spark/ids.jsonl"};
    config.tokenizer = std::string("gpt2:") + data + "/gpt2_bpe";
    config.row_filter = "url~apache/spark";
    config.output = folder.file("spark.h5");

    const Outcome outcome = run(config);

    EXPECT_EQ(outcome.report.rows, 691U);
    EXPECT_EQ(outcome.report.tokens, 314'067U);
    EXPECT_EQ(outcome.report.shortest, 55U);
    EXPECT_EQ(outcome.report.p50, 281U);
    EXPECT_EQ(outcome.report.longest, 12'330U);
    EXPECT_TRUE(says(texts_in(config.output)[0], "def _list_function_infos(jvm):"));
}

}  // namespace
}  // namespace trireme::tools
