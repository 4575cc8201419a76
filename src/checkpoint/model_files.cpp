#include "checkpoint/model_files.hpp"

#include <algorithm>

#include "trireme/archive/positioned_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/regular_file.hpp"

namespace trireme::checkpoint {
namespace {

// Maximum number of bytes that are read at once from a file of Hugging Face's format, unless a row is larger.
constexpr std::size_t hugging_face_block_bytes = std::size_t{4} << 20;

void read_rows(const archive::SafetensorsFile& file, const TensorEntry& entry, std::size_t columns,
               const layout::Box& requested_box, const UseRows& use) {
    const std::size_t element_bytes = byte_size(entry.type);
    const std::size_t row_bytes = columns * element_bytes;
    const std::size_t block_rows = std::max<std::size_t>(1, hugging_face_block_bytes / row_bytes);
    std::vector<std::byte> bytes;
    for (std::size_t row = requested_box.rows.begin; row < requested_box.rows.end(); row += block_rows) {
        const layout::Range rows{row, std::min(block_rows, requested_box.rows.end() - row)};
        bytes.resize(rows.count * row_bytes);
        file.read(entry.position_in_file, row * row_bytes, bytes);
        use({.box = {rows, requested_box.columns},
             .first = bytes.data() + requested_box.columns.begin * element_bytes,
             .stride = row_bytes});
    }
}

}  // namespace

std::uint64_t TensorEntry::count_bytes() const {
    std::uint64_t bytes = byte_size(type);
    for (const std::uint64_t extent : shape) bytes *= extent;
    return bytes;
}

void ModelFiles::read(const TensorEntry& entry, std::size_t columns, const layout::Box& requested_box,
                      const UseRows& use) const {
    if (requested_box.is_empty()) return;
    if (checkpoint) {
        checkpoint->parts.read({{entry.state_index, StateField::value, requested_box, use}}, 1);
    } else {
        read_rows(files[entry.file_index], entry, columns, requested_box, use);
    }
}

bool path_exists(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::not_found;
}

std::string read_small_file(const std::filesystem::path& path) {
    constexpr std::uint64_t max_bytes = std::uint64_t{256} << 20;
    return read_regular_file(path, {}, max_bytes);
}

}  // namespace trireme::checkpoint
