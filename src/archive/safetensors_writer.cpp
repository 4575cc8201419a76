#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "archive/file_writing.hpp"
#include "trireme/archive/partial_file.hpp"
#include "trireme/archive/safetensors.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {

struct SafetensorsWriter::Storage {
    Storage(const std::filesystem::path& path, SafetensorsHeader file_header)
        : partial(path),
          header(std::move(file_header)),
          descriptor(::open(partial.partial_path().c_str(), O_WRONLY)) {
        if (descriptor < 0) throw_write_error(partial.final_path(), errno);
    }
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;
    ~Storage() {
        if (descriptor >= 0) ::close(descriptor);
    }

    void append(std::span<const std::byte> bytes) {
        written_bytes += bytes.size();
        while (!bytes.empty()) {
            const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) throw_write_error(partial.final_path(), errno);
            bytes = bytes.subspan(static_cast<std::size_t>(count));
        }
    }

    PartialFile partial;
    SafetensorsHeader header;
    int descriptor;
    std::uint64_t file_bytes = 0;     // bytes of the whole file
    std::uint64_t written_bytes = 0;  // bytes written so far
};

SafetensorsWriter::SafetensorsWriter(const std::filesystem::path& path, std::vector<StoredTensor> tensors,
                                     const std::map<std::string, std::string>& metadata) {
    SafetensorsHeader header{.tensors = std::move(tensors), .metadata = metadata};
    const std::string text = make_safetensors_header(header);
    storage_ = std::make_unique<Storage>(path, std::move(header));
    const std::uint64_t length = text.size();  // little-endian in memory, as in the file
    const std::uint64_t data_bytes = count_tensor_bytes();
    storage_->file_bytes = sizeof length + length + data_bytes;
    storage_->partial.reserve(storage_->file_bytes);
    storage_->append(std::as_bytes(std::span(&length, 1)));
    storage_->append(std::as_bytes(std::span(text)));
}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&&) noexcept = default;
SafetensorsWriter::~SafetensorsWriter() = default;

const std::vector<StoredTensor>& SafetensorsWriter::tensors() const { return storage_->header.tensors; }

std::uint64_t SafetensorsWriter::count_tensor_bytes() const {
    return tensors().empty() ? 0 : tensors().back().end;
}

void SafetensorsWriter::write(std::span<const std::byte> bytes) {
    if (bytes.size() > storage_->file_bytes - storage_->written_bytes)
        throw BugError(cat(storage_->partial.final_path().string(), " received more than the ",
                           count_tensor_bytes(), " bytes of its tensors"));
    storage_->append(bytes);
}

void SafetensorsWriter::finish() {
    if (storage_->written_bytes != storage_->file_bytes)
        throw BugError(cat(storage_->partial.final_path().string(), " lacks ",
                           storage_->file_bytes - storage_->written_bytes, " bytes of its tensors"));
    ::close(std::exchange(storage_->descriptor, -1));
    storage_->partial.commit(storage_->file_bytes);
}

}  // namespace trireme::archive
