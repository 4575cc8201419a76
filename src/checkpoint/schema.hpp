// Names in checkpoints: what writer and reader must agree on.
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

// Beside the groups of fields: the SHA-256s of all blocks of rows, (sums, digits), in ASCII.
inline constexpr const char* sums_array = "/sha256";
inline constexpr std::size_t sum_digits = 64;
// Attributes of each array: first row, rows, first column, columns; first of its sums, rows that one is of.
inline constexpr const char* box_attribute = "box";
inline constexpr const char* sums_attribute = "sums";

inline constexpr std::size_t block_bytes = std::size_t{1} << 20;  // of rows under one sum, or one row

// What the names of all parts of a save, and of no other, begin with.
inline std::string part_file_begin(const std::string& save) { return part_prefix + save + "-"; }

inline std::string part_file(const std::string& save, std::uint64_t part) {
    return part_file_begin(save) + std::to_string(part) + ".h5";
}

inline std::string resizing_file(const std::string& save, int rank) {
    return resizing_prefix + save + "-" + std::to_string(rank) + ".h5";
}

// "/parameters/lm_head.weight[0:5,8:16]"
inline std::string array_path(StateField field, const std::string& tensor, const layout::Box& box) {
    const auto text = [](layout::Range range) {
        return std::to_string(range.begin) + ":" + std::to_string(range.end());
    };
    return "/" + std::string(name_of(field)) + "/" + tensor + "[" + text(box.rows) + "," + text(box.columns) +
           "]";
}

}  // namespace trireme::checkpoint::checkpoint_schema
