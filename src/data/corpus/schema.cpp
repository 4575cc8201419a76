#include "data/corpus/schema.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/base/sha256.hpp"

namespace trireme::data {

const char* to_string(RowKind kind) {
    switch (kind) {
        case RowKind::text:
            return "text";
        case RowKind::labelled_text:
            return "labelled text";
        case RowKind::question:
            return "question";
        case RowKind::image:
            return "image";
    }
    throw BugError("unknown kind of rows");
}

namespace corpus_schema {
namespace {

constexpr std::size_t max_narrow_vocabulary = 1 << 16;  // largest vocabulary whose token ids fit uint16
constexpr std::size_t chunk_tokens = 1 << 14;           // 32 KiB of uint16; HDF5 reads whole chunks
constexpr std::size_t chunk_rows = 1 << 12;             // for datasets with a few elements per row
constexpr std::size_t chunk_bytes = 1 << 16;  // for /tokenizer and /answers; about the chunk size of /images

// Returns the pixels per chunk for images of `pixels` pixels. A chunk holds whole images, so that reading an
// image reads one chunk.
std::size_t count_chunk_pixels(std::size_t pixels) {
    return pixels * std::max<std::size_t>(1, chunk_bytes / pixels);
}

std::string format_id(const std::optional<std::uint32_t>& id) { return id ? std::to_string(*id) : "none"; }

std::string format_tokenizer_lines(const CorpusInfo& info) {
    return cat("\ntokenizer_name=", info.tokenizer_name, "\ntokenizer_hash=", info.tokenizer_hash,
               "\nvocabulary_size=", info.vocabulary_size);
}

std::string format_origin_lines(const CorpusInfo& info) {
    return cat("\nsource=", info.source, "\nfilter=", info.filter, "\nlicence=", info.licence,
               "\nrows=", info.rows, "\ntokens=", info.tokens);
}

std::string format_special_token_lines(const SpecialTokens& special) {
    std::string lines;
    for (const SpecialTokenName& name : special_token_names)
        lines += cat('\n', name.attribute, '=', format_id(special.*name.token));
    return lines;
}

std::string format_kind_lines(const CorpusInfo& info) {
    return cat("\nrow_kind=", to_string(info.kind), "\nimage_channels=", info.image.channels,
               "\nimage_height=", info.image.height, "\nimage_width=", info.image.width,
               "\nclasses=", info.classes, "\nclass_names=", format_class_names(info.class_names));
}

}  // namespace

bool has_tokens(RowKind kind) { return kind != RowKind::image; }
bool has_labels(RowKind kind) { return kind == RowKind::labelled_text || kind == RowKind::image; }

std::optional<RowKind> parse_row_kind(std::string_view name) {
    for (const RowKind kind : {RowKind::text, RowKind::labelled_text, RowKind::question, RowKind::image})
        if (name == to_string(kind)) return kind;
    return std::nullopt;
}

std::size_t find_token_bytes(std::size_t vocabulary_size) {
    return vocabulary_size <= max_narrow_vocabulary ? 2 : 4;
}

std::vector<DatasetForm> list_datasets(const CorpusInfo& info) {
    std::vector<DatasetForm> forms;
    if (has_tokens(info.kind)) {
        forms.push_back({"/tokens", find_token_bytes(info.vocabulary_size), chunk_tokens});
        forms.push_back({"/offsets", 8, chunk_rows});
        forms.push_back({"/tokenizer", 1, chunk_bytes});
    }
    if (has_labels(info.kind)) forms.push_back({"/labels", 4, chunk_rows});
    if (info.kind == RowKind::image) forms.push_back({"/images", 1, count_chunk_pixels(info.image.pixels())});
    if (info.kind == RowKind::question) {
        forms.push_back({"/places", 4, 3 * chunk_rows});
        forms.push_back({"/answers", 1, chunk_bytes});
        forms.push_back({"/answer_offsets", 8, chunk_rows});
    }
    return forms;
}

std::string format_class_names(const std::vector<std::string>& names) {
    // Bytes that are not UTF-8 cannot be written as JSON: they are replaced by U+FFFD.
    return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::optional<std::vector<std::string>> parse_class_names(std::string_view text) {
    const auto list = try_parse_json<nlohmann::json>(text);
    if (!list || !list->is_array()) return std::nullopt;
    std::vector<std::string> names;
    for (const nlohmann::json& name : *list) {
        if (!name.is_string()) return std::nullopt;
        names.push_back(name.get<std::string>());
    }
    return names;
}

std::string compute_checksum(const CorpusInfo& info, const DatasetHashes& hashes) {
    std::string text = cat("schema_version=", info.schema_version, format_tokenizer_lines(info));
    if (info.schema_version < 2) {
        text += cat("\nend_token=", format_id(info.special_tokens.end_of_text), format_origin_lines(info));
    } else {
        text += cat(format_special_token_lines(info.special_tokens), format_origin_lines(info),
                    format_kind_lines(info));
    }
    for (const auto& [name, hash] : hashes) text += cat('\n', name, '=', hash);
    return sha256_hex(text + '\n');
}

}  // namespace corpus_schema
}  // namespace trireme::data
