#include <gtest/gtest.h>

#include <sstream>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "tools/prepare/row_tally.hpp"
#include "tools/printed_text.hpp"
#include "trireme/base/error.hpp"
#include "trireme/data/corpus_writer.hpp"
#include "trireme/tools/stored_files.hpp"

namespace trireme::tools {
namespace {

using validation::catch_message;
using validation::says;
using validation::ScratchFolder;

std::string write_corpus(const ScratchFolder& folder, std::string_view text) {
    const data::Tokenizer tokenizer = data::Tokenizer::make_raw_bytes();
    data::CorpusDescription description;
    description.tokenizer = tokenizer;
    description.source = "rows.jsonl";
    description.filter = "repo~spark";
    description.licence = "Apache-2.0";
    data::CorpusWriter writer(folder.file("c.h5"), description);
    data::CorpusRow row;
    row.tokens = tokenizer.encode(text);
    writer.add(row);
    writer.finish();
    return folder.file("c.h5");
}

std::string described(const std::string& path, bool verify) {
    std::ostringstream out;
    inspect(path, verify, out);
    return out.str();
}

TEST(Inspect, DescribesACorpus) {
    const ScratchFolder folder;

    const std::string text = described(write_corpus(folder, "def a():\n    return \x1B[31m"), true);

    EXPECT_TRUE(says(text, "c.h5 is a Trireme corpus (schema 2)\n  kind        text\n"));
    EXPECT_TRUE(says(text, "rows        1, tokens per row: min 25, p50 25, p90 25, p99 25, max 25\n"));
    EXPECT_TRUE(says(text, "tokenizer   bytes, vocabulary 257, end token 256\n"));
    EXPECT_TRUE(says(text, "source      rows.jsonl\n"));
    EXPECT_TRUE(says(text, "filter      repo~spark\n"));
    EXPECT_TRUE(says(text, "licence     Apache-2.0\n"));
    EXPECT_TRUE(says(text, "    def a():\n        return .[31m\n"));
    EXPECT_TRUE(says(text, "verified: every dataset has its recorded SHA-256"));
}

TEST(Inspect, TruncatesALongRowBetweenCharacters) {
    const ScratchFolder folder;
    std::string text(399, 'a');
    text += "\u00e9 and more";

    EXPECT_TRUE(says(described(write_corpus(folder, text), false), "a ...\n"));
}

TEST(Inspect, RejectsFilesThatAreNotCorpora) {
    const ScratchFolder folder;
    const std::string path = folder.write("a.txt", "text");

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { described(path, false); }), "a.txt is not an HDF5 file"));
}

TEST(RowLengths, AreSummarizedByNearestRankPercentiles) {
    std::vector<std::uint64_t> lengths;
    for (std::uint64_t length = 200; length > 0; --length) lengths.push_back(length);

    const RowLengths summary = compute_percentiles(lengths);

    EXPECT_EQ(summary.shortest, 1U);
    EXPECT_EQ(summary.p50, 100U);
    EXPECT_EQ(summary.p90, 180U);
    EXPECT_EQ(summary.p99, 198U);
    EXPECT_EQ(summary.longest, 200U);
    EXPECT_EQ(compute_percentiles({}).longest, 0U);
}

TEST(FormattedNumbers, HaveThousandsSeparators) {
    EXPECT_EQ(format_with_commas(0), "0");
    EXPECT_EQ(format_with_commas(999), "999");
    EXPECT_EQ(format_with_commas(1'000), "1,000");
    EXPECT_EQ(format_with_commas(314'067), "314,067");
    EXPECT_EQ(format_with_commas(1'234'567), "1,234,567");
}

}  // namespace
}  // namespace trireme::tools
