// Names in checkpoints: what writer and reader must agree on.
#pragma once

#include <cstdint>
#include <string>

namespace trireme::checkpoint_schema {

inline constexpr const char* format = "trireme-checkpoint";
inline constexpr std::uint64_t version = 1;

inline constexpr const char* latest_file = "latest";
inline constexpr const char* step_prefix = "step-";
inline constexpr const char* config_file = "config.json";
inline constexpr const char* tokenizer_file = "tokenizer.json";
inline constexpr const char* model_file = "model.h5";
inline constexpr const char* part_prefix = "part-";
inline constexpr const char* config_sum = "config_sha256";  // attributes of a part
inline constexpr const char* tokenizer_sum = "tokenizer_sha256";
inline constexpr const char* parameters_group = "/parameters";

inline std::string part_file(const std::string& save, std::uint64_t part) {
    return part_prefix + save + "-" + std::to_string(part) + ".h5";
}

}  // namespace trireme::checkpoint_schema
