// What there is to know about a corpus without reading its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::data {

// What a row is.
//   text            tokens
//   labelled_text   tokens, and the number of their class
//   question        a question's tokens, a context's behind them, and where the answer lies
//   image           pixels, and the number of their class
enum class RowKind : std::uint8_t { text, labelled_text, question, image };

const char* name_of(RowKind kind);  // "labelled text"

struct ImageSize {
    std::size_t channels = 0, height = 0, width = 0;

    std::size_t pixels() const { return channels * height * width; }
    friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// Ids that text never becomes; none where the tokenizer has no such token.
struct SpecialTokens {
    std::optional<std::uint32_t> end;        // <|endoftext|>
    std::optional<std::uint32_t> classify;   // [CLS], before a row
    std::optional<std::uint32_t> separator;  // [SEP], after each part of a row
    std::optional<std::uint32_t> mask;       // [MASK], in place of a token to be guessed
};

// Where things lie in the tokens of a question's row.
struct Question {
    std::uint32_t context_begin = 0;
    std::uint32_t answer_first = 0;    // tokens that hold the first answer, in the row
    std::uint32_t answer_last = 0;     // included
    std::vector<std::string> answers;  // as texts, all that count as right
};

struct CorpusInfo {
    std::string path;
    RowKind kind = RowKind::text;
    std::string tokenizer_name;  // empty: of images
    std::string tokenizer_hash;
    std::string source;   // where the rows came from, as the user named it
    std::string filter;   // the --where that chose them; empty: all
    std::string licence;  // as the user stated it
    std::size_t vocabulary_size = 0;
    SpecialTokens special;
    ImageSize image;                       // of images
    std::size_t classes = 0;               // of labelled texts and images
    std::vector<std::string> class_names;  // as many, or none
    std::uint64_t rows = 0;
    std::uint64_t tokens = 0;
    int schema_version = 0;
    std::string checksum;  // SHA-256 over everything above but the path, and the sums of all datasets
};

}  // namespace trireme::data
