// Reads and writes safetensors files, which consist of the length of the header (eight bytes), a JSON header,
// and the bytes of the tensors.
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

const char* to_string(StoredType type);                              // for example "BF16"
std::size_t byte_size(StoredType type);                              // bytes of an element
std::optional<StoredType> parse_stored_type(std::string_view name);  // nullopt if unknown

struct StoredTensor {
    std::string name;
    StoredType type = StoredType::f32;
    std::vector<std::uint64_t> shape;
    std::uint64_t begin = 0;  // [begin, end) are the tensor's bytes, counted from the end of the header
    std::uint64_t end = 0;

    std::uint64_t count_bytes() const { return end - begin; }
};

struct SafetensorsHeader {
    std::vector<StoredTensor> tensors;            // in the order of their bytes
    std::map<std::string, std::string> metadata;  // such as "format": "pt"
};

// Returns the length of the header in bytes. `first` is the first eight bytes of the file, which store this
// length, and `file_bytes` is the size of the file. Throws ConfigError if the header would exceed the file or
// the format's limit of 100,000,000 bytes. The message names the file `source`.
std::uint64_t parse_safetensors_header_bytes(std::span<const std::byte, 8> first, std::uint64_t file_bytes,
                                             const std::string& source);

// Parses the header `text` of the file `source`. `data_bytes` is the number of bytes after the header. Throws
// ConfigError, whose message names the file, if the header is invalid. Faults are offsets that overlap, leave
// holes or exceed `data_bytes`, sizes that overflow or do not match shapes, unknown types and keys, and
// duplicate names.
SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_bytes,
                                           const std::string& source);

// Sorts the tensors of `header` as Hugging Face's library does: by type (U64, I64, F64, F32, ..., BOOL), then
// by name. Sets `begin` and `end` of each tensor. Returns the text of the header, padded with spaces to a
// multiple of 8 bytes.
std::string make_safetensors_header(SafetensorsHeader& header);

// A safetensors file that is open for reading. Every error is a ConfigError that names the file.
class SafetensorsFile {
public:
    static SafetensorsFile open(const std::filesystem::path& path);
    SafetensorsFile(SafetensorsFile&&) noexcept;
    SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
    ~SafetensorsFile();

    const SafetensorsHeader& header() const;
    // Reads bytes [first, first + out.size()) of `tensor`.
    void read(const StoredTensor& tensor, std::uint64_t first, std::span<std::byte> out) const;

private:
    struct Storage;
    explicit SafetensorsFile(std::unique_ptr<Storage> storage);
    std::unique_ptr<Storage> storage_;
};

// Writes the same bytes as Hugging Face's library. The file appears under the name `path` only when it is
// complete. All functions throw ConfigError if `path` cannot be written, and ResourceError if the disk refuses.
class SafetensorsWriter {
public:
    // Sorts `tensors` as make_safetensors_header() does, and computes `begin` and `end` of each tensor. The
    // values of `begin` and `end` in the argument are ignored.
    SafetensorsWriter(const std::filesystem::path& path, std::vector<StoredTensor> tensors,
                      const std::map<std::string, std::string>& metadata);
    SafetensorsWriter(SafetensorsWriter&&) noexcept;
    ~SafetensorsWriter();

    const std::vector<StoredTensor>& tensors() const;  // in the order in which write() takes their bytes
    void write(std::span<const std::byte> bytes);      // appends bytes of tensors, in portions of any size
    void finish();  // must be called once, after all tensors: gives the file its name

private:
    struct Storage;

    std::uint64_t count_tensor_bytes() const;

    std::unique_ptr<Storage> storage_;
};

}  // namespace trireme::archive
