// The files of a stored model as one list of tensors, for checkpoints and for Hugging Face's format.
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

// A stored tensor.
struct TensorEntry {
    std::string name;
    archive::StoredType type = archive::StoredType::f32;
    archive::StoredType original_type =
        archive::StoredType::f32;  // see CheckpointTensor; equals `type` in Hugging Face's format
    std::vector<std::uint64_t> shape;
    std::size_t state_index = 0;                  // checkpoint: index in CheckpointState::tensors
    std::size_t file_index = 0;                   // Hugging Face's format: index in ModelFiles::files
    archive::StoredTensor position_in_file = {};  // Hugging Face's format: the tensor in its file

    std::uint64_t count_bytes() const;  // in the stored type
};

// The contents of a checkpoint, which is a folder step-N.
struct CheckpointFolder {
    CheckpointFolder(const std::filesystem::path& folder, CheckpointState checkpoint_state,
                     const std::string& state_sha256)
        : state(std::move(checkpoint_state)), parts(folder, state, state_sha256) {}
    CheckpointFolder(const CheckpointFolder&) = delete;
    CheckpointFolder& operator=(const CheckpointFolder&) = delete;

    CheckpointState state;
    CheckpointParts parts;
};

struct ModelFiles {
    std::string path;  // of the folder or file
    model::ModelConfig config;
    std::string config_text;        // contents of config.json
    std::string tokenizer;          // contents of tokenizer.json; empty if there is none
    std::string generation_config;  // contents of generation_config.json; empty if there is none
    std::vector<TensorEntry> entries;
    std::unique_ptr<CheckpointFolder> checkpoint;  // null for Hugging Face's format
    std::vector<archive::SafetensorsFile> files;   // empty for a checkpoint
    std::vector<std::string> file_paths;           // of `files`, in the same order

    std::uint64_t step() const { return checkpoint ? checkpoint->state.step : 0; }

    // Regards a tensor as a matrix with `columns` columns, reads the box `requested_box` of this matrix, and
    // passes the box to `use` block by block. For a checkpoint, several threads may call `use` at once. Throws
    // ConfigError if a file is cut short or does not match its checksums.
    void read(const TensorEntry& entry, std::size_t columns, const layout::Box& requested_box,
              const UseRows& use) const;
};

// Open a model of either format without reading tensors. Throw ConfigError if the files are inconsistent.
ModelFiles open_checkpoint(const std::filesystem::path& folder);  // a folder step-N
// config.json must be in the folder or beside the file.
ModelFiles open_huggingface(const std::filesystem::path& folder_or_file);

// Throws ConfigError if the checkpoint's file model.h5 cannot be opened.
void verify_model_file(const std::filesystem::path& folder);

// Throws ConfigError if one of the checkpoint's files resizing-*.h5 is damaged or from another save.
void verify_resizing_files(const std::filesystem::path& folder, const std::string& save_id);

// Path and format of a stored model.
struct ModelLocation {
    std::filesystem::path path;
    bool is_checkpoint = false;
};
// Finds the model that `path` denotes; see StoredModel::open(). Throws ConfigError if there is none.
ModelLocation find_model(const std::filesystem::path& path);

// Returns N for the name "step-N", or nullopt for other names.
std::optional<std::uint64_t> parse_step(const std::string& name);

// Returns the folder name that the file `latest` contains. Throws ConfigError if the file cannot be read.
std::string read_latest_name(const std::filesystem::path& latest);

// Returns false if the path does not exist. Returns true also for a path that cannot be accessed, so that the
// attempt to read the path reports the reason.
bool path_exists(const std::filesystem::path& path);

// Returns the contents of a file. Throws ConfigError if the file cannot be read or has more than 256 MiB, which
// no tokenizer or index has.
std::string read_small_file(const std::filesystem::path& path);

}  // namespace trireme::checkpoint
