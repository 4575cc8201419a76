// Names in checkpoints on which writer and reader agree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/checkpoint/checkpoint_state.hpp"

namespace trireme::checkpoint::checkpoint_schema {

inline constexpr const char* format = "trireme-checkpoint";
inline constexpr std::uint64_t version = 2;
inline constexpr std::string_view copy_again = "copy the checkpoint again, or use another one";

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
inline constexpr const char* save_name = "save";
inline constexpr const char* state_sum = "state_sha256";
inline constexpr const char* update_count = "updates";

// Array of a part with the SHA-256 of each block of rows in ASCII, (sums, digits).
inline constexpr const char* sums_array = "/sha256";
inline constexpr std::size_t sum_digits = 64;
// Attributes of each array. The box is first row, rows, first column, columns. The sums are the index of the
// first checksum and the rows per checksum.
inline constexpr const char* box_attribute = "box";
inline constexpr const char* sums_attribute = "sums";

// Bytes of rows under one checksum, unless a single row is larger.
inline constexpr std::size_t block_bytes = std::size_t{1} << 20;

// Returns the common prefix of the names of all parts of a save.
inline std::string part_file_begin(const std::string& save) { return part_prefix + save + "-"; }

inline std::string part_file(const std::string& save, std::uint64_t part) {
    return part_file_begin(save) + std::to_string(part) + ".h5";
}

inline std::string resizing_file(const std::string& save, int rank) {
    return resizing_prefix + save + "-" + std::to_string(rank) + ".h5";
}

// Returns a path such as "/parameters/lm_head.weight[0:5,8:16]".
inline std::string array_path(StateField field, const std::string& tensor, const layout::Box& box) {
    const auto text = [](layout::Range range) {
        return std::to_string(range.begin) + ":" + std::to_string(range.end());
    };
    return "/" + std::string(name_of(field)) + "/" + tensor + "[" + text(box.rows) + "," + text(box.columns) +
           "]";
}

}  // namespace trireme::checkpoint::checkpoint_schema
