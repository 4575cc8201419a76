// Corpora of a few rows, written for one test.
#pragma once

#include <cstdint>
#include <vector>

#include "scratch_folder.hpp"
#include "trireme/data/corpus.hpp"
#include "trireme/data/corpus_writer.hpp"

namespace trireme::validation {

using TokenRow = std::vector<std::uint32_t>;

constexpr std::uint32_t end_of_bytes = 256;  // the end token of Tokenizer::make_raw_bytes()

// Returns the tokenizer of bytes with its end token 256, and [CLS] 257, [SEP] 258 and [MASK] 259.
inline data::Tokenizer bert_bytes() {
    const std::vector<std::string> specials{"[CLS]", "[SEP]", "[MASK]"};
    return data::Tokenizer::make_raw_bytes().with_special_tokens(specials);
}

inline data::CorpusDescription described(data::RowKind kind, const data::Tokenizer& tokenizer) {
    return {.kind = kind, .tokenizer = tokenizer, .image = {}, .source = "rows", .filter = "", .licence = ""};
}

inline data::CorpusDescription describe_image_corpus(const data::ImageSize& size) {
    return {.kind = data::RowKind::image,
            .tokenizer = std::nullopt,
            .image = size,
            .source = "rows",
            .filter = "",
            .licence = ""};
}

inline data::CorpusRow text_row(const TokenRow& tokens) {
    data::CorpusRow row;
    row.tokens = tokens;
    return row;
}

inline data::CorpusRow labelled_row(const TokenRow& tokens, std::uint32_t label) {
    data::CorpusRow row;
    row.tokens = tokens;
    row.label = label;
    return row;
}

inline data::CorpusRow question_row(const TokenRow& tokens, const data::Question& question) {
    data::CorpusRow row;
    row.tokens = tokens;
    row.question = question;
    return row;
}

inline data::CorpusRow image_row(const std::vector<std::uint8_t>& pixels, std::uint32_t label) {
    data::CorpusRow row;
    row.label = label;
    row.pixels = pixels;
    return row;
}

// Writes corpus.h5 with these rows into `folder` and opens it.
inline data::Corpus corpus_of(const ScratchFolder& folder, const data::CorpusDescription& description,
                              const std::vector<data::CorpusRow>& rows,
                              std::vector<std::string> class_names = {}) {
    data::CorpusWriter writer(folder.file("corpus.h5"), description);
    for (const data::CorpusRow& row : rows) writer.add(row);
    writer.finish(std::move(class_names));
    return data::Corpus::open(folder.file("corpus.h5"));
}

// Writes and opens a corpus of text rows.
inline data::Corpus small_corpus(const ScratchFolder& folder, const std::vector<TokenRow>& rows,
                                 const data::Tokenizer& tokenizer = data::Tokenizer::make_raw_bytes()) {
    std::vector<data::CorpusRow> texts;
    for (const TokenRow& row : rows) texts.push_back(text_row(row));
    return corpus_of(folder, described(data::RowKind::text, tokenizer), texts);
}

// Writes and opens a corpus of text rows of these lengths; every token is 1.
inline data::Corpus make_corpus_with_lengths(
    const ScratchFolder& folder, const std::vector<std::size_t>& lengths,
    const data::Tokenizer& tokenizer = data::Tokenizer::make_raw_bytes()) {
    std::vector<TokenRow> rows;
    for (const std::size_t length : lengths) rows.emplace_back(length, 1U);
    return small_corpus(folder, rows, tokenizer);
}

}  // namespace trireme::validation
