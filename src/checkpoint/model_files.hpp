// What a stored model is on disk, whoever wrote it: a list of tensors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/part_reader.hpp"
#include "trireme/archive/safetensors.hpp"
#include "trireme/model/config.hpp"

namespace trireme::checkpoint {

namespace huggingface_files {
inline constexpr const char* single_file = "model.safetensors";
inline constexpr const char* index_file = "model.safetensors.index.json";
}  // namespace huggingface_files

struct TensorEntry {
    std::string name;
    archive::StoredType type = archive::StoredType::f32;
    archive::StoredType source = archive::StoredType::f32;  // what it was before it became part of a checkpoint
    std::vector<std::uint64_t> shape;
    std::size_t number = 0;  // of a checkpoint: in its state
    std::size_t file = 0;    // of Hugging Face's: of ModelFiles::files
    archive::StoredTensor place = {};

    std::uint64_t bytes() const;  // as they are stored
};

// What is in a folder step-N.
struct CheckpointFolder {
    CheckpointFolder(const std::filesystem::path& folder, CheckpointState all, const std::string& state_sha256)
        : state(std::move(all)), parts(folder, state, state_sha256) {}
    CheckpointFolder(const CheckpointFolder&) = delete;
    CheckpointFolder& operator=(const CheckpointFolder&) = delete;

    CheckpointState state;
    CheckpointParts parts;
};

struct ModelFiles {
    std::string place;
    model::ModelConfig config;
    std::string config_text;  // the config.json that says so
    std::string tokenizer;
    std::string generation;
    std::vector<TensorEntry> entries;
    std::unique_ptr<CheckpointFolder> checkpoint;  // none: Hugging Face's
    std::vector<archive::SafetensorsFile> files;
    std::vector<std::string> file_paths;

    std::uint64_t step() const { return checkpoint ? checkpoint->state.step : 0; }

    // Rows of a tensor that is seen as a matrix of so many columns: all that is `wanted`, piece by piece.
    // Throws ConfigError for a file that is cut short or does not fit its checksums.
    void read(const TensorEntry& entry, std::size_t columns, const layout::Box& wanted,
              const UseRows& use) const;
};

// The two kinds. Both read no tensor, and throw ConfigError where something does not hold together.
ModelFiles open_checkpoint(const std::filesystem::path& folder);           // a folder step-N
ModelFiles open_huggingface(const std::filesystem::path& folder_or_file);  // with a config.json in or beside it

// Throws ConfigError where the file of a checkpoint that shows every tensor to people cannot be opened.
void verify_model_file(const std::filesystem::path& folder);

// Likewise, where what a rank remembers of what it leaves out is damaged, or of another save.
void verify_resizing_files(const std::filesystem::path& folder, const std::string& save);

// What StoredModel::open() was given, followed to where the model is.
struct ModelPlace {
    std::filesystem::path path;
    bool is_checkpoint = false;
};
ModelPlace find_model(const std::filesystem::path& path);

// The N of "step-N"; none of another name.
std::optional<std::uint64_t> step_of(const std::string& name);

// What the file says. Throws ConfigError where it cannot be read.
std::string name_in_latest(const std::filesystem::path& latest);

// Also where nobody can look, so that reading it says why.
bool is_there(const std::filesystem::path& path);

// All bytes of a file that is no larger than any tokenizer or index. Throws ConfigError.
std::string read_small_file(const std::filesystem::path& path);

}  // namespace trireme::checkpoint
