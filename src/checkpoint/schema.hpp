// Names of files, attributes and arrays in checkpoints, for the writer and the reader.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/checkpoint/checkpoint_state.hpp"

namespace trireme::checkpoint::checkpoint_schema {

inline constexpr const char* format = "trireme-checkpoint";
inline constexpr std::uint64_t version = 2;
inline constexpr std::string_view repair_hint = "copy the checkpoint again, or use another one";

inline constexpr const char* latest_file = "latest";
inline constexpr const char* step_prefix = "step-";
inline constexpr const char* config_file = "config.json";
inline constexpr const char* tokenizer_file = "tokenizer.json";
inline constexpr const char* generation_file = "generation_config.json";
inline constexpr const char* state_file = "state.json";
inline constexpr const char* model_file = "model.h5";
inline constexpr const char* part_prefix = "part-";

inline constexpr const char* resizing_prefix = "resizing-";

// Attributes of a part.
inline constexpr const char* save_attribute = "save";
inline constexpr const char* state_checksum_attribute = "state_sha256";
inline constexpr const char* updates_attribute = "updates";  // largest number in the array updates_array

// Array of a part with the number of optimizer updates in the moments of each tensor of
// list_tensors_with_moments(). Checkpoints of older programs lack it: all numbers equal the attribute.
inline constexpr const char* updates_array = "/updates";

// Array of a part that holds the SHA-256 of each block of rows as ASCII digits. Its shape is (blocks,
// checksum_digits).
inline constexpr const char* checksums_array = "/sha256";
inline constexpr std::size_t checksum_digits = 64;
// Attributes of the array of each box. The first one has the position of the box: first row, rows, first
// column, columns. The second one has the index of the first checksum of the box, and the number of rows per
// checksum.
inline constexpr const char* box_attribute = "box";
inline constexpr const char* checksums_attribute = "sums";

// Maximum number of bytes under one checksum, unless a single row is larger.
inline constexpr std::size_t block_bytes = std::size_t{1} << 20;

// Returns the prefix of the names of all parts of a save.
inline std::string make_part_file_prefix(const std::string& save_id) { return part_prefix + save_id + "-"; }

inline std::string make_part_file_name(const std::string& save_id, std::uint64_t rank) {
    return make_part_file_prefix(save_id) + std::to_string(rank) + ".h5";
}

inline std::string make_resizing_file_name(const std::string& save_id, int rank) {
    return resizing_prefix + save_id + "-" + std::to_string(rank) + ".h5";
}

// Returns a path such as "/parameters/lm_head.weight[0:5,8:16]".
inline std::string make_array_path(StateField field, const std::string& tensor, const layout::Box& box) {
    const auto format_range = [](layout::Range range) {
        return std::to_string(range.begin) + ":" + std::to_string(range.end());
    };
    return "/" + std::string(to_string(field)) + "/" + tensor + "[" + format_range(box.rows) + "," +
           format_range(box.columns) + "]";
}

}  // namespace trireme::checkpoint::checkpoint_schema
