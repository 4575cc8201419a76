// Reads and writes the attributes of a corpus file.
#include <limits>

#include "data/corpus/contents.hpp"
#include "data/corpus/schema.hpp"
#include "trireme/archive/hdf5_file.hpp"

namespace trireme::data {
namespace fs = std::filesystem;
namespace {

using corpus_schema::SpecialTokenName;

constexpr std::uint64_t max_classes = std::numeric_limits<std::int32_t>::max();  // targets are int32
constexpr std::uint64_t max_edge = 1 << 16;  // pixels or channels; channels * height * width fits 64 bits

template <class... Parts>
[[noreturn]] void refuse(const fs::path& path, const Parts&... parts) {
    throw ConfigError(cat(path.string(), " is damaged: ", parts..., "; ", corpus_schema::repair_advice));
}

std::string read_text(archive::hdf5::Id file, const fs::path& path, const std::string& name) {
    std::optional<std::string> text = archive::hdf5::read_text(file, name);
    if (!text) refuse(path, "its attribute '", name, "' is missing");
    return std::move(*text);
}

std::uint64_t read_number(archive::hdf5::Id file, const fs::path& path, const std::string& name) {
    const std::optional<std::uint64_t> number = archive::hdf5::read_number(file, name);
    if (!number) refuse(path, "its attribute '", name, "' is missing");
    return *number;
}

// Reads a number from 1 to `max_number`.
std::uint64_t read_bounded_number(archive::hdf5::Id file, const fs::path& path, const std::string& name,
                                  std::uint64_t max_number) {
    const std::uint64_t number = read_number(file, path, name);
    if (number == 0 || number > max_number)
        refuse(path, "its attribute '", name, "' is ", number, ", not 1 to ", max_number);
    return number;
}

int read_schema(archive::hdf5::Id file, const fs::path& path) {
    const std::optional<std::string> format = archive::hdf5::read_text(file, "format");
    if (format != corpus_schema::format)
        throw ConfigError(
            cat(path.string(), " is an HDF5 file but not a Trireme corpus (its attribute 'format' is ",
                format ? cat("'", *format, "'") : "missing", "; it should be '", corpus_schema::format,
                "'); make a corpus with `trireme prepare INPUT --output FILE.h5`"));
    const std::uint64_t version = read_number(file, path, "schema_version");
    if (version > corpus_schema::version)
        throw ConfigError(cat(path.string(), " was written by a newer Trireme (corpus schema ", version,
                              "; this program reads up to ", corpus_schema::version,
                              "); use the newer Trireme, or make the corpus again with this program"));
    return static_cast<int>(version);
}

RowKind read_kind(archive::hdf5::Id file, const fs::path& path, int schema_version) {
    if (schema_version < 2) return RowKind::text;  // version 1 has no other kind
    const std::string name = read_text(file, path, "row_kind");
    const std::optional<RowKind> kind = corpus_schema::parse_row_kind(name);
    if (!kind) refuse(path, "its attribute 'row_kind' is '", name, "', which is not a kind of row");
    return *kind;
}

void read_special_tokens(archive::hdf5::Id file, CorpusInfo& info) {
    for (const SpecialTokenName& name : corpus_schema::special_token_names) {
        const std::optional<std::uint64_t> id = archive::hdf5::read_number(file, name.attribute);
        if (!id) continue;
        if (*id >= info.vocabulary_size)
            refuse(info.path, "its attribute '", name.attribute, "' is ", *id, ", but the vocabulary has ",
                   info.vocabulary_size, " tokens");
        info.special_tokens.*name.token = static_cast<std::uint32_t>(*id);
    }
}

void read_classes(archive::hdf5::Id file, CorpusInfo& info) {
    // A corpus without rows has 0 classes.
    if (info.rows > 0) info.classes = read_bounded_number(file, info.path, "classes", max_classes);
    auto names = corpus_schema::parse_class_names(read_text(file, info.path, "class_names"));
    if (!names) refuse(info.path, "its attribute 'class_names' is not a list of names");
    if (!names->empty() && names->size() != info.classes)
        refuse(info.path, "it has ", names->size(), " class names, but ", info.classes, " classes");
    info.class_names = std::move(*names);
}

}  // namespace

void write_attributes(archive::hdf5::Id file, const CorpusInfo& info) {
    archive::hdf5::write_text(file, "format", std::string(corpus_schema::format));
    archive::hdf5::write_number(file, "schema_version", static_cast<std::uint64_t>(info.schema_version));
    archive::hdf5::write_text(file, "row_kind", to_string(info.kind));
    if (corpus_schema::has_tokens(info.kind)) {
        archive::hdf5::write_text(file, "tokenizer_name", info.tokenizer_name);
        archive::hdf5::write_text(file, "tokenizer_hash", info.tokenizer_hash);
        archive::hdf5::write_number(file, "vocabulary_size", info.vocabulary_size);
    }
    for (const SpecialTokenName& name : corpus_schema::special_token_names)
        if (const auto& id = info.special_tokens.*name.token)
            archive::hdf5::write_number(file, name.attribute, *id);
    if (info.kind == RowKind::image) {
        archive::hdf5::write_number(file, "image_channels", info.image.channels);
        archive::hdf5::write_number(file, "image_height", info.image.height);
        archive::hdf5::write_number(file, "image_width", info.image.width);
    }
    if (corpus_schema::has_labels(info.kind)) {
        archive::hdf5::write_number(file, "classes", info.classes);
        archive::hdf5::write_text(file, "class_names", corpus_schema::format_class_names(info.class_names));
    }
    archive::hdf5::write_text(file, "source", info.source);
    archive::hdf5::write_text(file, "filter", info.filter);
    archive::hdf5::write_text(file, "licence", info.licence);
    archive::hdf5::write_number(file, "rows", info.rows);
    archive::hdf5::write_text(file, "checksum", info.checksum);
}

CorpusInfo read_attributes(archive::hdf5::Id file, const fs::path& path) {
    CorpusInfo info;
    info.path = path.string();
    info.schema_version = read_schema(file, path);
    info.kind = read_kind(file, path, info.schema_version);
    info.source = read_text(file, path, "source");
    info.filter = read_text(file, path, "filter");
    info.licence = read_text(file, path, "licence");
    info.rows = read_number(file, path, "rows");
    info.checksum = read_text(file, path, "checksum");
    if (corpus_schema::has_tokens(info.kind)) {
        info.tokenizer_name = read_text(file, path, "tokenizer_name");
        info.tokenizer_hash = read_text(file, path, "tokenizer_hash");
        info.vocabulary_size = read_number(file, path, "vocabulary_size");
        read_special_tokens(file, info);
    }
    if (info.kind == RowKind::image)
        info.image = {.channels = read_bounded_number(file, path, "image_channels", max_edge),
                      .height = read_bounded_number(file, path, "image_height", max_edge),
                      .width = read_bounded_number(file, path, "image_width", max_edge)};
    if (corpus_schema::has_labels(info.kind)) read_classes(file, info);
    return info;
}

}  // namespace trireme::data
