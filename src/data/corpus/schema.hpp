// The form of a corpus file, for its reader and its writer: names of attributes and datasets, and the checksum.
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
inline constexpr int version = 2;  // of new corpora; version 1, which has texts only, can still be read
inline constexpr std::string_view repair_advice =
    "copy the file again, or make it again with `trireme prepare`";

// A special token: its attribute in a corpus file, its spelling in a tokenizer, and its field of SpecialTokens.
struct SpecialTokenName {
    const char* attribute;
    const char* spelling;
    std::optional<std::uint32_t> SpecialTokens::*token;
};
inline constexpr std::array<SpecialTokenName, 4> special_token_names{
    {{"end_token", "<|endoftext|>", &SpecialTokens::end_of_text},
     {"classify_token", "[CLS]", &SpecialTokens::classify},
     {"separator_token", "[SEP]", &SpecialTokens::separator},
     {"mask_token", "[MASK]", &SpecialTokens::mask}}};

bool has_tokens(RowKind kind);
bool has_labels(RowKind kind);

// Returns the kind with this name, or nullopt if there is none.
std::optional<RowKind> parse_row_kind(std::string_view name);

struct DatasetForm {
    std::string name;
    std::size_t element_bytes = 0;
    std::size_t chunk_elements = 0;

    std::size_t chunk_bytes() const { return element_bytes * chunk_elements; }
};

std::size_t find_token_bytes(std::size_t vocabulary_size);  // bytes of a token id in /tokens: 2 or 4

// Returns the datasets of a corpus with the kind of rows, vocabulary and image size of `info`.
std::vector<DatasetForm> list_datasets(const CorpusInfo& info);

// Returns the names as the text of one attribute: a JSON list.
std::string format_class_names(const std::vector<std::string>& names);
// Returns the names in such a text, or nullopt if the text is no JSON list of names.
std::optional<std::vector<std::string>> parse_class_names(std::string_view text);

using DatasetHashes = std::map<std::string, std::string>;  // SHA-256 per dataset

// Returns the checksum of a corpus: the SHA-256 of a text that lists the other attributes and the SHA-256 of
// each dataset. The checksum identifies the corpus and reveals a changed attribute.
std::string compute_checksum(const CorpusInfo& info, const DatasetHashes& hashes);

}  // namespace trireme::data::corpus_schema
