// Reads and writes safetensors files: eight bytes of header length, a JSON header, then the bytes of the
// tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace trireme::archive {

// Element types; the format calls them F64, F32, F16, BF16, I64 ... BOOL.
enum class StoredType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u64, u32, u16, u8, boolean };

const char* name_of(StoredType type);  // "BF16"
std::size_t bytes_of(StoredType type);
std::optional<StoredType> stored_type_named(std::string_view name);

struct StoredTensor {
    std::string name;
    StoredType type = StoredType::f32;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // byte offset from the end of the header
    std::uint64_t end = 0;

    std::uint64_t bytes() const { return end - begin; }
};

struct SafetensorsHeader {
    std::vector<StoredTensor> tensors;            // in the order of their bytes
    std::map<std::string, std::string> metadata;  // such as "format": "pt"
};

// Returns the length of the header, given by the first eight bytes of a file of `file_bytes` bytes. Throws
// ConfigError, which names `place`, if it exceeds the file or the format's limit.
std::uint64_t safetensors_header_bytes(std::span<const std::byte, 8> first, std::uint64_t file_bytes,
                                       const std::string& place);

// Parses a header that is followed by `data_bytes` bytes of tensors. Throws ConfigError, which names `place`,
// if it is not exactly such a header. Examples are offsets that overlap, leave holes or lie outside, sizes that
// do not match shapes or overflow, unknown types and duplicate names.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& place);

// Orders the tensors as Hugging Face's library writes them: by type (U64, I64, F64, F32, ..., BOOL), then by
// name. Sets their offsets and returns the header's text, padded to a multiple of 8 bytes.
std::string lay_out_safetensors(SafetensorsHeader& header);

// A file opened for reading. Every error is a ConfigError that names the file.
class SafetensorsFile {
public:
    static SafetensorsFile open(const std::filesystem::path& path);
    SafetensorsFile(SafetensorsFile&&) noexcept;
    SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
    ~SafetensorsFile();

    const SafetensorsHeader& header() const;
    // Reads bytes [first, first + out.size()) of the tensor.
    void read(const StoredTensor& tensor, std::uint64_t first, std::span<std::byte> out) const;

private:
    struct Storage;
    explicit SafetensorsFile(std::unique_ptr<Storage> storage);
    std::unique_ptr<Storage> storage_;
};

// Writes the same bytes as Hugging Face's library. The file appears under its name when it is complete. Throws
// ConfigError if it cannot be written there, ResourceError if the disk refuses.
class SafetensorsWriter {
public:
    // Ignores `begin` and `end` of the tensors.
    SafetensorsWriter(const std::filesystem::path& path, std::vector<StoredTensor> tensors,
                      const std::map<std::string, std::string>& metadata);
    SafetensorsWriter(SafetensorsWriter&&) noexcept;
    ~SafetensorsWriter();

    const std::vector<StoredTensor>& tensors() const;  // in the order in which write() expects them
    void write(std::span<const std::byte> bytes);      // the next bytes, of any count
    void finish();                                     // called after all are written

private:
    struct Storage;

    std::uint64_t tensors_end() const;  // bytes of all tensors

    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme::archive
