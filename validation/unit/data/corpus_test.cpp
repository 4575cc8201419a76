#include "trireme/data/corpus.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <numeric>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::described;
using validation::says;
using validation::ScratchFolder;
using validation::text_row;

using Row = std::vector<std::uint32_t>;

const CorpusDescription of_bytes = described(RowKind::text, Tokenizer::make_raw_bytes());

CorpusInfo write_corpus(const std::string& path, const std::vector<Row>& rows) {
    CorpusDescription description = described(RowKind::text, Tokenizer::make_raw_bytes());
    description.source = "rows.jsonl";
    description.filter = "repo~spark";
    description.licence = "Apache-2.0";
    CorpusWriter writer(path, description);
    for (const Row& row : rows) writer.add(text_row(row));
    return writer.finish();
}

Row read_row(const Corpus& corpus, std::uint64_t row) {
    Row out;
    corpus.read(row, out);
    return out;
}

TEST(Corpus, GivesBackEveryRowInAnyOrder) {
    const ScratchFolder folder;
    Row longest(40'000);  // more than two chunks
    std::iota(longest.begin(), longest.end(), 0U);
    for (std::uint32_t& token : longest) token %= 256;

    write_corpus(folder.file("c.h5"), {{1, 2, 3}, {}, longest, {256}});
    const Corpus corpus = Corpus::open(folder.file("c.h5"));

    EXPECT_EQ(corpus.rows(), 4U);
    EXPECT_EQ(corpus.row_length(2), 40'000U);
    EXPECT_EQ(read_row(corpus, 3), Row({256}));
    EXPECT_EQ(read_row(corpus, 2), longest);
    EXPECT_EQ(read_row(corpus, 0), Row({1, 2, 3}));
    EXPECT_EQ(read_row(corpus, 1), Row());
    EXPECT_NO_THROW(corpus.verify());
}

TEST(Corpus, RemembersWhereItsRowsCameFrom) {
    const ScratchFolder folder;

    const CorpusInfo written = write_corpus(folder.file("c.h5"), {{1, 2, 3}});
    const CorpusInfo read = Corpus::open(folder.file("c.h5")).info();

    EXPECT_EQ(read.source, "rows.jsonl");
    EXPECT_EQ(read.filter, "repo~spark");
    EXPECT_EQ(read.licence, "Apache-2.0");
    EXPECT_EQ(read.tokenizer_name, "bytes");
    EXPECT_EQ(read.tokenizer_hash, Tokenizer::make_raw_bytes().compute_hash());
    EXPECT_EQ(read.vocabulary_size, 257U);
    EXPECT_EQ(read.special_tokens.end_of_text, 256U);
    EXPECT_EQ(read.tokens, 3U);
    EXPECT_EQ(read.checksum, written.checksum);
}

TEST(Corpus, ContainsItsTokenizer) {
    const ScratchFolder folder;
    const std::vector<std::string> texts = {"low lower lowest low low lower"};
    const Tokenizer tokenizer = Tokenizer::train(texts, 262);

    CorpusWriter writer(folder.file("c.h5"), described(RowKind::text, tokenizer));
    writer.add(text_row(tokenizer.encode(texts[0])));
    writer.finish();
    const Corpus corpus = Corpus::open(folder.file("c.h5"));

    EXPECT_EQ(corpus.read_tokenizer().compute_hash(), tokenizer.compute_hash());
    EXPECT_EQ(corpus.read_tokenizer().decode(read_row(corpus, 0)), texts[0]);
}

TEST(Corpus, HasTheSameChecksumOnlyForTheSameRows) {
    const ScratchFolder folder;

    const std::string first = write_corpus(folder.file("a.h5"), {{1, 2}, {3}}).checksum;
    const std::string same = write_corpus(folder.file("b.h5"), {{1, 2}, {3}}).checksum;
    const std::string other_rows = write_corpus(folder.file("c.h5"), {{1}, {2, 3}}).checksum;

    EXPECT_EQ(first, same);
    EXPECT_NE(first, other_rows);
}

TEST(Corpus, RejectsARowNumberBeyondItsLast) {
    const ScratchFolder folder;
    write_corpus(folder.file("c.h5"), {{1}});
    const Corpus corpus = Corpus::open(folder.file("c.h5"));

    EXPECT_THROW(corpus.row_length(1), BugError);
}

TEST(CorpusWriter, CreatesItsFileOnlyWhenItIsComplete) {
    const ScratchFolder folder;
    CorpusWriter writer(folder.file("c.h5"), of_bytes);
    writer.add(text_row(Row{1, 2, 3}));

    const bool visible_before = std::filesystem::exists(folder.file("c.h5"));
    writer.finish();

    EXPECT_FALSE(visible_before);
    EXPECT_EQ(folder.names(), std::vector<std::string>{"c.h5"});
}

TEST(CorpusWriter, KeepsTheOldFileAndNoOtherIfNotFinished) {
    const ScratchFolder folder;
    folder.write("c.h5", "as it was");

    {
        CorpusWriter writer(folder.file("c.h5"), of_bytes);
        writer.add(text_row(Row{1, 2, 3}));
    }

    EXPECT_EQ(folder.names(), std::vector<std::string>{"c.h5"});
    EXPECT_EQ(validation::read_whole(folder.file("c.h5")), "as it was");
}

TEST(CorpusWriter, RejectsATokenBeyondTheVocabulary) {
    const ScratchFolder folder;
    CorpusWriter writer(folder.file("c.h5"), of_bytes);

    EXPECT_THROW(writer.add(text_row(Row{257})), BugError);
}

TEST(CorpusWriter, SaysWhichFolderIsMissing) {
    const ScratchFolder folder;
    const std::string path = folder.file("none/c.h5");

    const std::string message = catch_message<ConfigError>([&] { CorpusWriter(path, of_bytes); });

    EXPECT_TRUE(says(message, folder.file("none") + " does not exist; create it (mkdir -p"));
}

TEST(CorpusWriter, RejectsAFolderAsItsFile) {
    const ScratchFolder folder;
    std::filesystem::create_directory(folder.file("c.h5"));

    const std::string message =
        catch_message<ConfigError>([&] { CorpusWriter(folder.file("c.h5"), of_bytes); });

    EXPECT_TRUE(says(message, "c.h5 is a folder; name a file in it"));
}

// Writes a corpus of about 4 MB under a file size limit, which stands for a full disk. Ends the process.
[[noreturn]] void write_with_limit(const ScratchFolder& folder, rlim_t limit) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit size{limit, limit};
    setrlimit(RLIMIT_FSIZE, &size);
    const std::string message = catch_message<ResourceError>([&] {
        CorpusWriter writer(folder.file("c.h5"), of_bytes);
        for (int row = 0; row < 2'000; ++row) writer.add(text_row(Row(1000, 65)));
        writer.finish();
    });
    std::fputs(message.c_str(), stderr);
    std::exit(folder.names().empty() ? 3 : 4);  // runs HDF5's exit handler
}

TEST(CorpusWriter, ReportsAFullDiskAndLeavesNoFile) {
    const ScratchFolder folder;

    for (const rlim_t limit : {1'000, 500'000, 1'600'000, 2'000'000, 3'500'000, 4'000'000})
        EXPECT_EXIT(write_with_limit(folder, limit), testing::ExitedWithCode(3),
                    "c.h5 cannot be written: File too large; raise the limit")
            << limit;
}

}  // namespace
}  // namespace trireme::data
