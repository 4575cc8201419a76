// A corpus: rows of token ids or of pixels in one HDF5 file, with the tokenizer that made them (README,
// *Files*).
//
//   not of images
//     /tokens          uint16 or uint32, all rows one after another
//     /offsets         uint64, rows + 1: row r is tokens [offsets[r], offsets[r + 1])
//     /tokenizer       the tokenizer's own bytes
//   of labelled texts and images
//     /labels          uint32, rows
//   of images
//     /images          uint8, rows * channels * height * width
//   of questions
//     /places          uint32, 3 * rows: see Question
//     /answers         uint8, the texts of all answers, each ended by a zero
//     /answer_offsets  uint64, rows + 1: of row r's first answer in /answers
//
// Each dataset is checked per chunk (fletcher32) while it is read, and as a whole (SHA-256) by verify().
#pragma once

#include <filesystem>
#include <memory>

#include "trireme/data/corpus_info.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme::data {

// A corpus opened read-only, one per rank: offsets, labels and places are held in memory, of tokens, pixels and
// answers only the rows asked for are read. Every error is a ConfigError that names the file and what to do.
class Corpus {
public:
    // Throws where the file is missing, foreign, cut short, of a newer schema, or does not hold together.
    static Corpus open(const std::filesystem::path& path);

    Corpus(Corpus&&) noexcept;
    Corpus& operator=(Corpus&&) noexcept;
    ~Corpus();

    const CorpusInfo& info() const { return info_; }
    std::uint64_t rows() const { return info_.rows; }
    std::uint64_t row_length(std::uint64_t row) const;  // tokens; 0 of images

    // Replaces `out` by the row's tokens, or by `count` of them from `begin`. Throws where a chunk does not fit
    // its checksum, and where a token lies beyond the vocabulary.
    void read(std::uint64_t row, std::vector<std::uint32_t>& out) const;
    void read(std::uint64_t row, std::uint64_t begin, std::uint64_t count,
              std::vector<std::uint32_t>& out) const;

    // Of labelled texts and images. Throws where it is no class of the corpus.
    std::uint32_t label(std::uint64_t row) const;

    // Of images. Replaces `out` by (channels, height, width).
    void read_image(std::uint64_t row, std::vector<std::uint8_t>& out) const;

    // Of questions; places() leaves the answers out and reads nothing of the file. Both throw where the answer
    // lies outside of the context.
    Question question(std::uint64_t row) const;
    Question places(std::uint64_t row) const;

    // Not of images. Throws where its bytes are not those the corpus was made with.
    Tokenizer tokenizer() const;

    // Reads everything once. Throws where a dataset differs from its recorded SHA-256.
    void verify() const;

private:
    struct Storage;
    Corpus(CorpusInfo info, std::unique_ptr<Storage> storage);

    CorpusInfo info_;
    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme::data
