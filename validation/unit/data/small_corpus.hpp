// A corpus of a few rows, written for one test.
#pragma once

#include <cstdint>
#include <vector>

#include "scratch_folder.hpp"
#include "trireme/data/corpus.hpp"

namespace trireme::validation {

using TokenRow = std::vector<std::uint32_t>;

constexpr std::uint32_t end_of_bytes = 256;  // the end token of Tokenizer::bytes()

inline Corpus small_corpus(const ScratchFolder& folder, const std::vector<TokenRow>& rows,
                           const Tokenizer& tokenizer = Tokenizer::bytes()) {
    CorpusWriter writer(folder.file("corpus.h5"), tokenizer, "rows", "", "");
    for (const TokenRow& row : rows) writer.add(row);
    writer.finish();
    return Corpus::open(folder.file("corpus.h5"));
}

// Rows of these lengths, of token 1.
inline Corpus corpus_of_lengths(const ScratchFolder& folder, const std::vector<std::size_t>& lengths) {
    std::vector<TokenRow> rows;
    for (const std::size_t length : lengths) rows.emplace_back(length, 1U);
    return small_corpus(folder, rows);
}

}  // namespace trireme::validation
