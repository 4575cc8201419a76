#include "checkpoint/model_files.hpp"

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

void read_bytes(const SafetensorsFile& file, const StoredTensor& tensor, std::uint64_t first,
                std::span<std::byte> out) {
    file.read(tensor, first, out);
}

void read_bytes(const PositionedFile& file, const StoredTensor& tensor, std::uint64_t first,
                std::span<std::byte> out) {
    file.read(tensor.begin + first, out);
}

}  // namespace

void ModelFiles::read(const TensorEntry& entry, std::uint64_t first, std::span<std::byte> out) const {
    std::visit([&](const auto& file) { read_bytes(file, entry.tensor, first, out); },
               files[entry.file].content);
}

bool is_there(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

std::string read_small_file(const std::filesystem::path& path) {
    constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;
    const PositionedFile file(path);
    if (file.size() > most_bytes)
        throw ConfigError(cat(path.string(), " has ", file.size(), " bytes; no file of its kind has more than ",
                              most_bytes, ": copy it again"));
    std::string bytes(file.size(), '\0');
    file.read(0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

}  // namespace trireme
