// Facts about a corpus that are known without reading its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::data {

// What a row contains.
//   text            tokens
//   labelled_text   tokens and the number of their class
//   question        the tokens of a question, then of a context, and the position of the answer
//   image           pixels and the number of their class
//   image           pixels, and the number of their class
enum class RowKind : std::uint8_t { text, labelled_text, question, image };

const char* name_of(RowKind kind);  // such as "labelled text"

struct ImageSize {
    std::size_t channels = 0, height = 0, width = 0;

    std::size_t pixels() const { return channels * height * width; }
    friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// Ids that encode() never returns for text; unset if the tokenizer has no such token.
struct SpecialTokens {
    std::optional<std::uint32_t> end;        // <|endoftext|>
    std::optional<std::uint32_t> classify;   // [CLS], at the beginning of a sample
    std::optional<std::uint32_t> separator;  // [SEP], after each part of a row
    std::optional<std::uint32_t> mask;       // [MASK], replaces a token to be predicted
};

// Positions in the tokens of a question's row.
struct Question {
    std::uint32_t context_begin = 0;
    std::uint32_t answer_first = 0;    // first token of the first answer
    std::uint32_t answer_last = 0;     // included
    std::vector<std::string> answers;  // texts of all correct answers
};

struct CorpusInfo {
    std::string path;
    RowKind kind = RowKind::text;
    std::string tokenizer_name;  // empty for images
    std::string tokenizer_hash;
    std::string source;   // origin of the rows, as the user named it
    std::string filter;   // the --where that selected the rows; empty if all
    std::string licence;  // as the user stated it
    std::size_t vocabulary_size = 0;
    SpecialTokens special;
    ImageSize image;                       // for images
    std::size_t classes = 0;               // for labelled texts and images
    std::vector<std::string> class_names;  // one per class, or empty
    std::uint64_t rows = 0;
    std::uint64_t tokens = 0;
    int schema_version = 0;
    // SHA-256 over all of the above except the path, and over the checksums of all datasets.
    std::string checksum;
};

}  // namespace trireme::data
