// A corpus: rows of token ids or of pixels in one HDF5 file, with the tokenizer that made the ids (see
// docs/reference/file-formats.md). Here, a row is one document, question or image. The file has these datasets:
//
//   for all kinds of rows except images
//     /tokens          uint16 or uint32, the tokens of all rows, concatenated
//     /offsets         uint64, rows + 1: row r is tokens [offsets[r], offsets[r + 1])
//     /tokenizer       the bytes of Tokenizer::to_bytes()
//   for labelled texts and images
//     /labels          uint32, rows
//   for images
//     /images          uint8, rows * channels * height * width
//   for questions
//     /places          uint32, 3 * rows: context_begin, answer_first and answer_last of Question
//     /answers         uint8, the texts of all answers, each terminated by a zero
//     /answer_offsets  uint64, rows + 1: the answers of row r are bytes
//                      [answer_offsets[r], answer_offsets[r + 1]) of /answers
//
// HDF5 checks the checksum (fletcher32) of each chunk that is read. verify() checks the SHA-256 of each
// dataset.
#pragma once

#include <filesystem>
#include <memory>

#include "trireme/data/corpus_info.hpp"
#include "trireme/data/tokenizer.hpp"

namespace trireme::data {

// A corpus that is open for reading; each rank opens the file itself. Offsets, labels and positions of answers
// are held in memory. Tokens, pixels and texts of answers are read row by row on request. Every error of the
// file is a ConfigError that names the file and says what to do.
class Corpus {
public:
    // Throws if the file is missing, cut short or inconsistent, is no corpus, or has a newer schema.
    static Corpus open(const std::filesystem::path& path);

    Corpus(Corpus&&) noexcept;
    Corpus& operator=(Corpus&&) noexcept;
    ~Corpus();

    const CorpusInfo& info() const { return info_; }
    std::uint64_t rows() const { return info_.rows; }
    std::uint64_t row_length(std::uint64_t row) const;  // in tokens; 0 for images

    // Replace `out` by all tokens of the row, or by its tokens [begin, begin + count). Throw if a chunk does
    // not match its checksum or a token is beyond the vocabulary.
    void read(std::uint64_t row, std::vector<std::uint32_t>& out) const;
    void read(std::uint64_t row, std::uint64_t begin, std::uint64_t count,
              std::vector<std::uint32_t>& out) const;

    // Returns the class of a labelled text or an image. Throws if the class is not below info().classes.
    std::uint32_t label(std::uint64_t row) const;

    // Replaces `out` by the pixels of an image, (channels, height, width).
    void read_image(std::uint64_t row, std::vector<std::uint8_t>& out) const;

    // Return the positions of context and answer in the row of a question. read_question() also reads the texts
    // of all answers; find_question_positions() leaves them empty and reads nothing from the file. Both throw
    // if the answer lies outside the context.
    Question read_question(std::uint64_t row) const;
    Question find_question_positions(std::uint64_t row) const;

    // Returns the tokenizer of the corpus. Throws if the stored bytes do not match the recorded hash. Throws
    // BugError for a corpus of images, which has no tokenizer.
    Tokenizer read_tokenizer() const;

    // Reads the whole file. Throws if a dataset does not match its recorded SHA-256.
    void verify() const;

private:
    struct Storage;
    Corpus(CorpusInfo info, std::unique_ptr<Storage> storage);

    CorpusInfo info_;
    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme::data
