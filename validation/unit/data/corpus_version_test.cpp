// Tests that corpora of schema version 1, which had rows of text only, stay readable.
#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "unit/data/changed_file.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::recorded_sum;
using validation::remove_attribute;
using validation::says;
using validation::ScratchFolder;
using validation::set_number;
using validation::set_text;
using validation::small_corpus;
using validation::TokenRow;

// Returns the checksum as version 1 computed it, for two rows of five tokens in all.
std::string first_checksum(const std::string& path) {
    return sha256_hex(cat(
        "schema_version=1\ntokenizer_name=bytes\ntokenizer_hash=", Tokenizer::make_raw_bytes().compute_hash(),
        "\nvocabulary_size=257\nend_token=256\nsource=rows\nfilter=\nlicence=\nrows=2",
        "\ntokens=5\n/offsets=", recorded_sum(path, "/offsets"),
        "\n/tokenizer=", recorded_sum(path, "/tokenizer"), "\n/tokens=", recorded_sum(path, "/tokens"), "\n"));
}

std::string first_version(const ScratchFolder& folder) {
    small_corpus(folder, {{1, 2, 3}, {4, 5}});
    std::string path = folder.file("corpus.h5");
    remove_attribute(path, "row_kind");
    set_number(path, "/", "schema_version", 1);
    set_text(path, "checksum", first_checksum(path));
    return path;
}

TEST(CorpusVersion1, IsReadAsRowsOfText) {
    const ScratchFolder folder;
    const Corpus corpus = Corpus::open(first_version(folder));
    TokenRow row;
    corpus.read(1, row);

    EXPECT_EQ(corpus.info().schema_version, 1);
    EXPECT_EQ(corpus.info().kind, RowKind::text);
    EXPECT_EQ(corpus.info().special_tokens.end_of_text, 256U);
    EXPECT_EQ(row, (TokenRow{4, 5}));
    EXPECT_EQ(corpus.read_tokenizer().compute_hash(), Tokenizer::make_raw_bytes().compute_hash());
    EXPECT_NO_THROW(corpus.verify());
}

TEST(CorpusVersion1, RevealsAChangedAttributeByItsChecksum) {
    const ScratchFolder folder;
    const std::string path = first_version(folder);
    set_number(path, "/", "vocabulary_size", 300);

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { Corpus::open(path); }),
                     "corpus.h5 is damaged: its attributes give the checksum "));
}

TEST(CorpusVersion2, NeedsAKnownRowKind) {
    const ScratchFolder folder;
    small_corpus(folder, {{1}});
    const std::string path = folder.file("corpus.h5");
    set_text(path, "row_kind", "sound");

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { Corpus::open(path); }),
                     "corpus.h5 is damaged: its attribute 'row_kind' is 'sound', which is not a kind of row"));

    remove_attribute(path, "row_kind");
    EXPECT_TRUE(says(catch_message<ConfigError>([&] { Corpus::open(path); }),
                     "corpus.h5 is damaged: its attribute 'row_kind' is missing"));
}

}  // namespace
}  // namespace trireme::data
