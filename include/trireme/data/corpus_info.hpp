// Facts about a corpus that are known without reading its rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trireme::data {

// The kind of the rows of a corpus:
//   text            tokens
//   labelled_text   tokens and the number of their class
//   question        the tokens of a question, then of a context, and the position of the answer
//   image           pixels and the number of their class
enum class RowKind : std::uint8_t { text, labelled_text, question, image };

const char* to_string(RowKind kind);  // such as "labelled text"

struct ImageSize {
    std::size_t channels = 0, height = 0, width = 0;

    std::size_t pixels() const { return channels * height * width; }  // number of values, of all channels
    friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

// Ids of special tokens, which Tokenizer::encode() never returns for text. An id is unset if the tokenizer has
// no such token.
struct SpecialTokens {
    std::optional<std::uint32_t> end_of_text;  // <|endoftext|>
    std::optional<std::uint32_t> classify;     // [CLS], at the beginning of a sample
    std::optional<std::uint32_t> separator;    // [SEP], after a text, a question and a context
    std::optional<std::uint32_t> mask;         // [MASK], in place of masked tokens
};

// Positions in a row of kind `question`, and the answers. The row has the tokens of the question, followed by
// the tokens of the context. A position is the index of a token in the row.
struct Question {
    std::uint32_t context_begin = 0;   // first token of the context
    std::uint32_t answer_first = 0;    // first token of the first answer text
    std::uint32_t answer_last = 0;     // last token of the first answer text
    std::vector<std::string> answers;  // texts of all correct answers
};

struct CorpusInfo {
    std::string path;
    RowKind kind = RowKind::text;
    std::string tokenizer_name;  // empty for images
    std::string tokenizer_hash;  // Tokenizer::compute_hash()
    std::string source;          // origin of the rows, as the user named it
    std::string filter;          // value of --where, which selected the rows; empty for all rows
    std::string licence;         // as the user stated it
    std::size_t vocabulary_size = 0;
    SpecialTokens special_tokens;
    ImageSize image;                       // for images
    std::size_t classes = 0;               // for labelled texts and images
    std::vector<std::string> class_names;  // one per class, or empty
    std::uint64_t rows = 0;
    std::uint64_t tokens = 0;  // in all rows
    int schema_version = 0;
    // SHA-256 of all fields above except the path, and of the checksums of all datasets.
    std::string checksum;
};

}  // namespace trireme::data
