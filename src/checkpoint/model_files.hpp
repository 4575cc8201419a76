// The files of a stored model, in either format, as one list of tensors.
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
    archive::StoredType source = archive::StoredType::f32;  // the type before it was stored in a checkpoint
    std::vector<std::uint64_t> shape;
    std::size_t number = 0;  // of a checkpoint: index in its state
    std::size_t file = 0;    // of Hugging Face's format: index in ModelFiles::files
    archive::StoredTensor place = {};

    std::uint64_t bytes() const;  // in the stored type
};

// The contents of a folder step-N.
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
    std::string config_text;  // contents of config.json
    std::string tokenizer;
    std::string generation;
    std::vector<TensorEntry> entries;
    std::unique_ptr<CheckpointFolder> checkpoint;  // null for Hugging Face's format
    std::vector<archive::SafetensorsFile> files;
    std::vector<std::string> file_paths;

    std::uint64_t step() const { return checkpoint ? checkpoint->state.step : 0; }

    // Reads the box `wanted` of a tensor that is seen as a matrix with `columns` columns, and passes it to
    // `use` block by block. Throws ConfigError if a file is cut short or does not match its checksums.
    void read(const TensorEntry& entry, std::size_t columns, const layout::Box& wanted,
              const UseRows& use) const;
};

// Open a model of either format. They read no tensor and throw ConfigError if the files are inconsistent.
ModelFiles open_checkpoint(const std::filesystem::path& folder);           // a folder step-N
ModelFiles open_huggingface(const std::filesystem::path& folder_or_file);  // config.json is in or beside it

// Throws ConfigError if the checkpoint's file with the virtual datasets cannot be opened.
void verify_model_file(const std::filesystem::path& folder);

// Throws ConfigError if a file of skipped channels is damaged or of another save.
void verify_resizing_files(const std::filesystem::path& folder, const std::string& save);

// The model that the path passed to StoredModel::open() leads to.
struct ModelPlace {
    std::filesystem::path path;
    bool is_checkpoint = false;
};
ModelPlace find_model(const std::filesystem::path& path);

// Returns N for the name "step-N", or nullopt for other names.
std::optional<std::uint64_t> step_of(const std::string& name);

// Returns the name of the folder in the file `latest`. Throws ConfigError if the file cannot be read.
std::string name_in_latest(const std::filesystem::path& latest);

// True unless the path does not exist. Also true if it cannot be accessed, so that reading it reports why.
bool is_there(const std::filesystem::path& path);

// Returns all bytes of a file of at most 256 MiB, more than any tokenizer or index has. Throws ConfigError.
std::string read_small_file(const std::filesystem::path& path);

}  // namespace trireme::checkpoint
