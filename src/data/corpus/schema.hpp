// Names and checksums on which reader and writer of a corpus agree.
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
inline constexpr int version = 2;  // the written version; version 1, text only, can still be read
inline constexpr std::string_view make_again = "copy it again, or make it again with `trireme prepare`";

// A special token with its attribute in a corpus and its spelling in a tokenizer.
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

// Returns nullopt for the name of an unknown kind.
std::optional<RowKind> kind_named(std::string_view name);

struct DatasetForm {
    std::string name;
    std::size_t element_bytes = 0;
    std::size_t chunk_elements = 0;

    std::size_t chunk_bytes() const { return element_bytes * chunk_elements; }
};

std::size_t token_bytes(std::size_t vocabulary_size);  // 2 or 4

// Returns the datasets of a corpus of this kind, vocabulary and image size.
std::vector<DatasetForm> datasets_of(const CorpusInfo& info);

// Returns the names as one attribute: a JSON list.
std::string class_names_text(const std::vector<std::string>& names);
// Returns nullopt if the text is not such a list.
std::optional<std::vector<std::string>> class_names_of(std::string_view text);

using DatasetSums = std::map<std::string, std::string>;  // SHA-256 per dataset

// Returns one checksum over all attributes and the datasets' checksums. It identifies the corpus and detects a
// changed attribute.
std::string checksum(const CorpusInfo& info, const DatasetSums& sums);

}  // namespace trireme::data::corpus_schema
