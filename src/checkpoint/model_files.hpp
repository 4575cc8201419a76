// What a stored model is on disk, whoever wrote it: a list of tensors, each in one piece of one file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "trireme/archive/positioned_file.hpp"
#include "trireme/archive/safetensors.hpp"
#include "trireme/model/config.hpp"

namespace trireme {

namespace huggingface_files {
inline constexpr const char* single_file = "model.safetensors";
inline constexpr const char* index_file = "model.safetensors.index.json";
}  // namespace huggingface_files

struct TensorFile {
    std::string path;
    std::variant<SafetensorsFile, PositionedFile> content;
};

struct TensorEntry {
    StoredTensor tensor;                  // of a checkpoint: begin and end in the whole file
    StoredType source = StoredType::f32;  // what it was before it became part of a checkpoint
    std::string sha256;                   // of its bytes; empty where none is recorded
    std::size_t file = 0;                 // of ModelFiles::files
};

struct ModelFiles {
    std::string place;
    bool is_checkpoint = false;
    ModelConfig config;
    std::string config_text;  // the config.json that says so
    std::uint64_t step = 0;
    std::string tokenizer;
    std::vector<TensorFile> files;
    std::vector<TensorEntry> entries;

    // Bytes [first, first + out.size()) of the tensor.
    void read(const TensorEntry& entry, std::uint64_t first, std::span<std::byte> out) const;
};

// The two kinds. Both read no tensor, and throw ConfigError where something does not hold together.
ModelFiles open_checkpoint(const std::filesystem::path& folder);           // a folder step-N
ModelFiles open_huggingface(const std::filesystem::path& folder_or_file);  // with a config.json in or beside it

// Throws ConfigError where the file of a checkpoint that shows every tensor to people cannot be opened.
void verify_model_file(const std::filesystem::path& folder);

// What StoredModel::open() was given, followed to where the model is.
struct ModelPlace {
    std::filesystem::path path;
    bool is_checkpoint = false;
};
ModelPlace find_model(const std::filesystem::path& path);

// Also where nobody can look, so that reading it says why.
bool is_there(const std::filesystem::path& path);

// All bytes of a file that is no larger than any tokenizer or index. Throws ConfigError.
std::string read_small_file(const std::filesystem::path& path);

}  // namespace trireme
