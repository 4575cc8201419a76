// Names and sums that reading and writing a corpus must agree on.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/data/corpus.hpp"

namespace trireme::corpus_schema {

inline constexpr std::string_view format = "trireme-corpus";
inline constexpr int version = 1;
inline constexpr std::size_t chunk_tokens = 1 << 14;  // 32 KiB of uint16: what one row costs to read at least
inline constexpr std::size_t chunk_offsets = 1 << 12;
inline constexpr std::size_t chunk_tokenizer = 1 << 16;    // bytes
inline constexpr std::size_t narrow_vocabulary = 1 << 16;  // the largest whose tokens fit uint16

// The SHA-256 of each dataset.
struct DatasetSums {
    std::string offsets, tokenizer, tokens;
};

// One sum over all attributes and all sums: it names the corpus, and finds a changed attribute at once.
inline std::string checksum(const CorpusInfo& info, const DatasetSums& sums) {
    return sha256_hex(cat("schema_version=", info.schema_version, "\ntokenizer_name=", info.tokenizer_name,
                          "\ntokenizer_hash=", info.tokenizer_hash, "\nvocabulary_size=", info.vocabulary_size,
                          "\nend_token=", info.end_token ? std::to_string(*info.end_token) : "none",
                          "\nsource=", info.source, "\nfilter=", info.filter, "\nlicence=", info.licence,
                          "\nrows=", info.rows, "\ntokens=", info.tokens, "\n/offsets=", sums.offsets,
                          "\n/tokenizer=", sums.tokenizer, "\n/tokens=", sums.tokens, "\n"));
}

}  // namespace trireme::corpus_schema
