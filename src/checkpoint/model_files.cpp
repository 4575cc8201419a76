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

std::string read_small_file(const std::filesystem::path& path) {
    const PositionedFile file(path);
    std::string bytes(file.size(), '\0');
    file.read(0, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

}  // namespace trireme
