// A corpus: rows of token ids or of pixels in one HDF5 file, with the tokenizer that made them (README,
// *Files*).
//
//   all but images
//     /tokens          uint16 or uint32, all rows one after another
//     /offsets         uint64, rows + 1: row r is tokens [offsets[r], offsets[r + 1])
//     /tokenizer       the bytes of Tokenizer::to_bytes()
//   labelled texts and images
//     /labels          uint32, rows
//   images
//     /images          uint8, rows * channels * height * width
//   questions
//     /places          uint32, 3 * rows: see Question
//     /answers         uint8, the texts of all answers, each terminated by a zero
//     /answer_offsets  uint64, rows + 1: the answers of row r are bytes [o[r], o[r + 1]) of /answers
//
// Each chunk of a dataset has a checksum (fletcher32) that is checked while it is read. verify() checks each
// dataset as a whole (SHA-256).
#pragma once

#include <filesystem>
#include <memory>

#include "trireme/data/corpus_info.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme::data {

// A corpus opened read-only, one per rank. Offsets, labels and places are held in memory; of tokens, pixels and
// answers only requested rows are read. Every error of the file is a ConfigError that names it and says what to
// do.
class Corpus {
public:
    // Throws if the file is missing, no corpus, cut short, of a newer schema, or inconsistent.
    static Corpus open(const std::filesystem::path& path);

    Corpus(Corpus&&) noexcept;
    Corpus& operator=(Corpus&&) noexcept;
    ~Corpus();

    const CorpusInfo& info() const { return info_; }
    std::uint64_t rows() const { return info_.rows; }
    std::uint64_t row_length(std::uint64_t row) const;  // tokens; 0 for images

    // Replace `out` by the row's tokens, or by `count` of them from `begin` on. Throw if a chunk does not match
    // its checksum or a token is beyond the vocabulary.
    void read(std::uint64_t row, std::vector<std::uint32_t>& out) const;
    void read(std::uint64_t row, std::uint64_t begin, std::uint64_t count,
              std::vector<std::uint32_t>& out) const;

    // Returns the class of a labelled text or an image. Throws if the corpus has no such class.
    std::uint32_t label(std::uint64_t row) const;

    // Replaces `out` by the pixels of an image, (channels, height, width).
    void read_image(std::uint64_t row, std::vector<std::uint8_t>& out) const;

    // Return the row of a question. places() omits the texts of the answers and reads nothing from the file.
    // Both throw if the answer lies outside the context.
    Question question(std::uint64_t row) const;
    Question places(std::uint64_t row) const;

    // Returns the tokenizer, which a corpus of images lacks. Throws if its bytes do not match the recorded
    // hash.
    Tokenizer tokenizer() const;

    // Reads everything once. Throws if a dataset does not match its recorded SHA-256.
    void verify() const;

private:
    struct Storage;
    Corpus(CorpusInfo info, std::unique_ptr<Storage> storage);

    CorpusInfo info_;
    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme::data
