#include "checkpoint/model_files.hpp"

#include <algorithm>

#include "trireme/archive/positioned_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::checkpoint {
namespace {

constexpr std::size_t hugging_face_block = std::size_t{4} << 20;  // bytes

void read_rows(const archive::SafetensorsFile& file, const TensorEntry& entry, std::size_t columns,
               const layout::Box& wanted, const UseRows& use) {
    const std::size_t element = bytes_of(entry.type);
    const std::size_t row_bytes = columns * element;
    const std::size_t block_rows = std::max<std::size_t>(1, hugging_face_block / row_bytes);
    std::vector<std::byte> bytes;
    for (std::size_t row = wanted.rows.begin; row < wanted.rows.end(); row += block_rows) {
        const layout::Range rows{row, std::min(block_rows, wanted.rows.end() - row)};
        bytes.resize(rows.count * row_bytes);
        file.read(entry.place, row * row_bytes, bytes);
        use({.box = {rows, wanted.columns},
             .first = bytes.data() + wanted.columns.begin * element,
             .stride = row_bytes});
    }
}

}  // namespace

std::uint64_t TensorEntry::bytes() const {
    std::uint64_t bytes = bytes_of(type);
    for (const std::uint64_t extent : shape) bytes *= extent;
    return bytes;
}

void ModelFiles::read(const TensorEntry& entry, std::size_t columns, const layout::Box& wanted,
                      const UseRows& use) const {
    if (wanted.is_empty()) return;
    if (checkpoint) {
        checkpoint->parts.read({{entry.number, StateField::value, wanted, use}}, 1);
    } else {
        read_rows(files[entry.file], entry, columns, wanted, use);
    }
}

bool is_there(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

std::string read_small_file(const std::filesystem::path& path) {
    constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;
    return read_regular_file(path, {}, most_bytes);
}

}  // namespace trireme::checkpoint
