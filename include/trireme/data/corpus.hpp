// A corpus: rows of token ids in one HDF5 file, with the tokenizer that made them (README, *Files*).
//
//   /tokens     uint16 or uint32, all rows one after another
//   /offsets    uint64, rows + 1: row r is tokens [offsets[r], offsets[r + 1])
//   /tokenizer  the tokenizer's own bytes
//
// Each dataset is checked per chunk (fletcher32) while it is read, and as a whole (SHA-256) by verify().
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/data/tokenizer.hpp"

namespace trireme {

struct CorpusInfo {
    std::string path;
    std::string tokenizer_name;
    std::string tokenizer_hash;
    std::string source;   // where the rows came from, as the user named it
    std::string filter;   // the --where that chose them; empty: all
    std::string licence;  // as the user stated it
    std::size_t vocabulary_size = 0;
    std::optional<std::uint32_t> end_token;  // none: the tokenizer has no end-of-text token
    std::uint64_t rows = 0;
    std::uint64_t tokens = 0;
    int schema_version = 0;
    std::string checksum;  // SHA-256 over everything above but the path, and the sums of all datasets
};

// A corpus opened read-only, one per rank: the offsets are held in memory, of the tokens only the rows asked
// for are read. Every error is a ConfigError that names the file and what to do.
class Corpus {
public:
    // Throws where the file is missing, foreign, cut short, of a newer schema, or does not hold together.
    static Corpus open(const std::filesystem::path& path);

    Corpus(Corpus&&) noexcept;
    Corpus& operator=(Corpus&&) noexcept;
    ~Corpus();

    const CorpusInfo& info() const { return info_; }
    std::uint64_t rows() const { return info_.rows; }
    std::uint64_t row_length(std::uint64_t row) const;  // tokens

    // Replaces `out` by the row's tokens, or by `count` of them from `begin`. Throws where a chunk does not fit
    // its checksum, and where a token lies beyond the vocabulary.
    void read(std::uint64_t row, std::vector<std::uint32_t>& out) const;
    void read(std::uint64_t row, std::uint64_t begin, std::uint64_t count,
              std::vector<std::uint32_t>& out) const;

    // Throws where its bytes are not those the corpus was made with.
    Tokenizer tokenizer() const;

    // Reads everything once. Throws where a dataset differs from its recorded SHA-256.
    void verify() const;

private:
    struct Storage;
    Corpus(CorpusInfo info, std::unique_ptr<Storage> storage);

    CorpusInfo info_;
    std::unique_ptr<Storage> storage_;
};

// Writes a corpus row by row into a hidden file beside `path`, and renames it into place when it is whole; a
// file of that name is replaced then. Destroyed before finish(), it leaves nothing behind.
class CorpusWriter {
public:
    // Throws ConfigError where the folder is missing or may not be written.
    CorpusWriter(const std::filesystem::path& path, const Tokenizer& tokenizer, const std::string& source,
                 const std::string& filter, const std::string& licence);
    CorpusWriter(CorpusWriter&&) noexcept;
    CorpusWriter& operator=(CorpusWriter&&) noexcept;
    ~CorpusWriter();

    // Tokens must lie within the vocabulary (BugError). Throws ResourceError where the disk refuses.
    void add(std::span<const std::uint32_t> row);

    CorpusInfo finish();

private:
    struct Storage;
    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme
