// Names and sums that reading and writing a corpus must agree on.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/data/corpus_info.hpp"

namespace trireme::data::corpus_schema {

inline constexpr std::string_view format = "trireme-corpus";
inline constexpr int version = 2;  // what is written; 1 knew rows of text only, and is still read
inline constexpr std::string_view make_again = "copy it again, or make it again with `trireme prepare`";

// A special token, and what it is called in a tokenizer and in a corpus.
struct SpecialName {
    const char* attribute;
    const char* spelling;
    std::optional<std::uint32_t> SpecialTokens::*token;
};
inline constexpr std::array<SpecialName, 4> special_names{
    {{"end_token", "<|endoftext|>", &SpecialTokens::end},
     {"classify_token", "[CLS]", &SpecialTokens::classify},
     {"separator_token", "[SEP]", &SpecialTokens::separator},
     {"mask_token", "[MASK]", &SpecialTokens::mask}}};

bool has_tokens(RowKind kind);
bool has_labels(RowKind kind);

// The kind of that name; none where this program knows no such rows.
std::optional<RowKind> kind_named(std::string_view name);

struct DatasetForm {
    std::string name;
    std::size_t element_bytes = 0;
    std::size_t chunk_elements = 0;

    std::size_t chunk_bytes() const { return element_bytes * chunk_elements; }
};

std::size_t token_bytes(std::size_t vocabulary_size);  // 2 or 4

// The datasets of a corpus of this kind, vocabulary and image size.
std::vector<DatasetForm> datasets_of(const CorpusInfo& info);

// As one attribute: a JSON list.
std::string class_names_text(const std::vector<std::string>& names);
// Returns nothing if the text, an attribute of the file `source`, is not such a list.
std::optional<std::vector<std::string>> class_names_of(std::string_view text);

using DatasetSums = std::map<std::string, std::string>;  // the SHA-256 of each dataset

// One sum over all attributes and all sums: it names the corpus, and finds a changed attribute at once.
std::string checksum(const CorpusInfo& info, const DatasetSums& sums);

}  // namespace trireme::data::corpus_schema
