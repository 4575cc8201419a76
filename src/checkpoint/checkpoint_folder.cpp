// Opens a checkpoint, which is a folder step-N.
#include "checkpoint/model_files.hpp"
#include "checkpoint/schema.hpp"
#include "trireme/archive/hdf5_file.hpp"
#include "trireme/archive/listing.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
namespace {

using namespace checkpoint_schema;

// Returns the contents of a file. Throws ConfigError if they do not have the SHA-256 `sha256`.
std::string read_verified_file(const fs::path& path, const std::string& sha256) {
    std::string bytes = read_small_file(path);
    const std::string checksum = sha256_hex(bytes);
    if (checksum != sha256)
        throw ConfigError(cat(path.string(), " does not belong to this checkpoint: its SHA-256 is ", checksum,
                              ", but ", state_file, " records ", sha256, "; ", repair_hint));
    return bytes;
}

// Throws ConfigError unless the folder holds exactly the parts of this save.
void check_part_files(const fs::path& folder, const CheckpointState& state) {
    std::vector<std::string> expected_names;
    for (const CheckpointPart& part : state.parts)
        expected_names.push_back(make_part_file_name(state.save_id, part.rank));
    std::sort(expected_names.begin(), expected_names.end());
    std::vector<std::string> found_names = archive::list_names(folder);
    std::erase_if(found_names, [](const std::string& name) { return !name.starts_with(part_prefix); });
    if (found_names == expected_names) return;
    for (const std::string& name : expected_names)
        if (!std::binary_search(found_names.begin(), found_names.end(), name))
            throw ConfigError(
                cat(folder.string(), " lacks ", name, ", which its ", state_file, " lists; ", repair_hint));
    for (const std::string& name : found_names)
        if (!std::binary_search(expected_names.begin(), expected_names.end(), name))
            throw ConfigError(cat(folder.string(), " holds parts of several saves, ", expected_names.front(),
                                  " and ", name, "; ", repair_hint));
}

TensorEntry make_entry(const CheckpointTensor& tensor, std::size_t state_index) {
    return {.name = tensor.name,
            .type = tensor.type,
            .original_type = tensor.original_type,
            .shape = tensor.shape,
            .state_index = state_index};
}

}  // namespace

void verify_model_file(const fs::path& folder) {
    archive::hdf5::open_read_only(folder / model_file, repair_hint);
}

CheckpointState read_checkpoint_state(const fs::path& folder) {
    const fs::path file = folder / state_file;
    return parse_checkpoint_state(read_small_file(file), file.string());
}

ModelFiles open_checkpoint(const fs::path& folder) {
    const std::string text = read_small_file(folder / state_file);
    ModelFiles files;
    files.checkpoint = std::make_unique<CheckpointFolder>(
        folder, parse_checkpoint_state(text, (folder / state_file).string()), sha256_hex(text));
    const CheckpointState& state = files.checkpoint->state;
    check_part_files(folder, state);
    const fs::path config = folder / config_file;
    files.path = folder.string();
    files.config_text = read_verified_file(config, state.config_sha256);
    files.config = model::parse_config_json(files.config_text, config.string());
    if (!state.tokenizer_sha256.empty())
        files.tokenizer = read_verified_file(folder / tokenizer_file, state.tokenizer_sha256);
    if (!state.generation_sha256.empty())
        files.generation_config = read_verified_file(folder / generation_file, state.generation_sha256);
    for (std::size_t t = 0; t < state.tensors.size(); ++t)
        files.entries.push_back(make_entry(state.tensors[t], t));
    return files;
}

}  // namespace trireme::checkpoint
