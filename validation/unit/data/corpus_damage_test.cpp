// Tests the messages for corpora that are missing, of another kind, or damaged.
#include <gtest/gtest.h>
#include <hdf5.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/data/changed_file.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::described;
using validation::says;
using validation::ScratchFolder;
using validation::set_element;
using validation::set_number;
using validation::text_row;

using Row = std::vector<std::uint32_t>;

const Row marked = {77, 11, 77, 22, 77, 33, 77, 44};  // its bytes occur nowhere else in the file

std::string write_corpus(const ScratchFolder& folder) {
    CorpusWriter writer(folder.file("c.h5"), described(RowKind::text, Tokenizer::make_raw_bytes()));
    writer.add(text_row({1, 2, 3}));
    writer.add(text_row(marked));
    writer.finish();
    return folder.file("c.h5");
}

std::string open_message(const std::string& path) {
    return catch_message<ConfigError>([&] { Corpus::open(path); });
}

// Opens the corpus, reads all rows and the tokenizer, and verifies it.
void use(const std::string& path) {
    const Corpus corpus = Corpus::open(path);
    Row out;
    for (std::uint64_t row = 0; row < corpus.rows(); ++row) corpus.read(row, out);
    corpus.read_tokenizer();
    corpus.verify();
}

TEST(CorpusDamage, IsReportedForAMissingFile) {
    EXPECT_TRUE(says(open_message("/nowhere/c.h5"),
                     "the corpus /nowhere/c.h5 does not exist; make it with `trireme prepare INPUT"));
}

TEST(CorpusDamage, IsReportedForAFolderAndForAnEmptyFile) {
    const ScratchFolder folder;

    EXPECT_TRUE(says(open_message(folder.file("")), "is a folder; name the .h5 file in it"));
    EXPECT_TRUE(says(open_message(folder.write("empty.h5", "")), "empty.h5 is empty; copy the file again"));
}

TEST(CorpusDamage, IsReportedForATextFileWithAHintToPrepareIt) {
    const ScratchFolder folder;
    const std::string path = folder.write("rows.jsonl", "{\"text\": \"a\"}\n");

    const std::string message = open_message(path);

    EXPECT_TRUE(says(message, "rows.jsonl is not an HDF5 file"));
    EXPECT_TRUE(says(message, "`trireme prepare " + path + " --output corpus.h5`"));
}

TEST(CorpusDamage, IsReportedForAForeignHdf5File) {
    const ScratchFolder folder;
    const std::string path = folder.file("foreign.h5");
    H5Fclose(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));

    EXPECT_TRUE(says(open_message(path),
                     "is an HDF5 file but not a Trireme corpus (its attribute 'format' is "
                     "missing; it should be 'trireme-corpus')"));
}

TEST(CorpusDamage, IsReportedForATruncatedFile) {
    const ScratchFolder folder;
    const std::string path = write_corpus(folder);
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);

    const std::string message = open_message(path);

    EXPECT_TRUE(says(message, "c.h5 is cut short, damaged or not an HDF5 file"));
    EXPECT_TRUE(says(message, "truncated file"));
    EXPECT_TRUE(says(message, "copy the file again, or make it again with `trireme prepare`"));
}

TEST(CorpusDamage, IsReportedForANewerSchema) {
    const ScratchFolder folder;
    const std::string path = write_corpus(folder);
    set_number(path, "/", "schema_version", 3);

    EXPECT_TRUE(
        says(open_message(path), "written by a newer Trireme (corpus schema 3; this program reads up to 2)"));
}

TEST(CorpusDamage, IsReportedForAChangedAttribute) {
    const ScratchFolder folder;
    const std::string path = write_corpus(folder);
    set_number(path, "/", "rows", 1);

    EXPECT_TRUE(says(open_message(path), "c.h5 is damaged: its attributes give the checksum "));
}

TEST(CorpusDamage, IsReportedForAFlippedBitInTheTokens) {
    const ScratchFolder folder;
    const std::string path = write_corpus(folder);
    std::string bytes = validation::read_whole(path);
    const std::size_t place = bytes.find(std::string("\x4D\0\x0B\0\x4D\0\x16\0", 8));
    ASSERT_NE(place, std::string::npos);
    bytes[place] ^= 0x01;
    folder.write("c.h5", bytes);

    const Corpus corpus = Corpus::open(path);
    Row out;
    const std::string message = catch_message<ConfigError>([&] { corpus.read(1, out); });

    EXPECT_TRUE(says(message, "/tokens of " + path + " is damaged between elements 3 and 10"));
    EXPECT_TRUE(says(message, "Fletcher32"));
    EXPECT_TRUE(says(message, "copy the file again, or make it again"));
}

TEST(CorpusDamage, IsFoundByVerifyEvenIfChunkChecksumsMatch) {
    const ScratchFolder folder;
    const std::string path = write_corpus(folder);
    set_element(path, "/tokens", 1, 9);

    const Corpus corpus = Corpus::open(path);

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { corpus.verify(); }),
                     "c.h5 is damaged: the SHA-256 of /tokens is "));
}

TEST(CorpusDamage, IsReportedForATokenBeyondTheVocabulary) {
    const ScratchFolder folder;
    const std::string path = write_corpus(folder);
    set_element(path, "/tokens", 5, 300);

    const Corpus corpus = Corpus::open(path);
    Row out;

    EXPECT_TRUE(says(
        catch_message<ConfigError>([&] { corpus.read(1, out); }),
        "c.h5: token 300 at position 2 of row 1 is beyond the vocabulary of 257 tokens (tokenizer bytes)"));
}

// HDF5 checks little of what it reads. With the layout of our files it must report a changed byte, not use it.
TEST(CorpusDamage, IsRejectedOrHarmlessForAnyFlippedByte) {
    const ScratchFolder folder;
    const std::string intact = validation::read_whole(write_corpus(folder));
    const std::string path = folder.file("flipped.h5");
    int refused = 0;

    for (std::size_t at = 0; at < intact.size(); at += at < 6'000 ? 29 : 2'003) {
        std::string bytes = intact;
        bytes[at] ^= 0x20;
        folder.write("flipped.h5", bytes);
        try {
            use(path);
        } catch (const ConfigError&) {
            ++refused;
        }
    }

    EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace trireme::data
