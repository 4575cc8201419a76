#include <array>

#include "trireme/archive/positioned_file.hpp"
#include "trireme/archive/safetensors.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {

struct SafetensorsFile::Storage {
    PositionedFile file;
    SafetensorsHeader header;
    std::uint64_t data_begin = 0;  // byte offset in the file at which the tensors' data begin
};

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
    PositionedFile file(path);
    std::array<std::byte, 8> first{};
    if (file.size() < first.size())
        throw ConfigError(cat(path.string(), " has ", file.size(),
                              " bytes, too few for a safetensors file; copy or download the file again"));
    file.read(0, first);
    const std::uint64_t length = parse_safetensors_header_bytes(first, file.size(), path.string());
    std::string text(length, '\0');
    file.read(first.size(), std::as_writable_bytes(std::span(text)));
    const std::uint64_t begin = first.size() + length;
    SafetensorsHeader header = parse_safetensors_header(text, file.size() - begin, path.string());
    return SafetensorsFile(std::make_unique<Storage>(Storage{std::move(file), std::move(header), begin}));
}

SafetensorsFile::SafetensorsFile(std::unique_ptr<Storage> storage) : storage_(std::move(storage)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

const SafetensorsHeader& SafetensorsFile::header() const { return storage_->header; }

void SafetensorsFile::read(const StoredTensor& tensor, std::uint64_t first, std::span<std::byte> out) const {
    if (first > tensor.count_bytes() || out.size() > tensor.count_bytes() - first)
        throw BugError(cat("cannot read bytes ", first, " to ", first + out.size(), " of the tensor ",
                           tensor.name, ", which has ", tensor.count_bytes(), " bytes"));
    storage_->file.read(storage_->data_begin + tensor.begin + first, out);
}

}  // namespace trireme::archive
