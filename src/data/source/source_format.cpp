// Detects the format of an input by its name or its first bytes.
#include <filesystem>
#include <string_view>

#include "data/source/cifar_file.hpp"
#include "data/source/source_inputs.hpp"
#include "data/source/squad_document.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

std::string find_extension(std::string_view name) { return std::filesystem::path(name).extension().string(); }

void check_cifar_size(const std::string& name, std::uint64_t size) {
    if (size % CifarFile::row_bytes == 0) return;
    throw ConfigError(cat(name, " has ", size, " bytes, which is not a multiple of ", CifarFile::row_bytes,
                          ": it is not a CIFAR-10 file, or it is cut short; copy it again, or give its format "
                          "with --format"));
}

}  // namespace

RowKind find_kind(SourceFormat format) {
    switch (format) {
        case SourceFormat::automatic:
        case SourceFormat::jsonl:
        case SourceFormat::text:
            return RowKind::text;
        case SourceFormat::squad:
            return RowKind::question;
        case SourceFormat::cifar10:
        case SourceFormat::mnist:
            return RowKind::image;
    }
    throw BugError("this format has no kind of rows");
}

SourceFormat find_format_of_name(const std::string& name, std::uint64_t size) {
    const bool is_gzipped = name.ends_with(".gz");
    const std::string unpacked = is_gzipped ? name.substr(0, name.size() - 3) : name;
    const std::string extension = find_extension(unpacked);
    if (extension == ".jsonl" || extension == ".ndjson") return SourceFormat::jsonl;
    if (extension == ".txt" || extension == ".md") return SourceFormat::text;
    if (unpacked.ends_with("-ubyte")) return SourceFormat::mnist;
    if (extension != ".bin") return SourceFormat::automatic;
    if (!is_gzipped) check_cifar_size(name, size);
    return SourceFormat::cifar10;
}

SourceFormat detect_format(InputFile& file) {
    file.skip_byte_order_mark();
    const std::string_view begin = file.buffered_text();
    const std::size_t first_visible = begin.find_first_not_of(" \t\r\n");
    const bool is_object = first_visible != std::string_view::npos && begin[first_visible] == '{';
    if (is_object && looks_like_squad(begin.substr(first_visible))) return SourceFormat::squad;
    const std::string& name = file.path();
    const bool is_json = is_object || find_extension(name) == ".json" || name.ends_with(".json.gz");
    return is_json ? SourceFormat::jsonl : SourceFormat::text;
}

}  // namespace trireme::data
