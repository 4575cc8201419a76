// Opens a checkpoint, a folder step-N.
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

std::string read_recorded(const fs::path& path, const std::string& sha256) {
    std::string bytes = read_small_file(path);
    const std::string found = sha256_hex(bytes);
    if (found != sha256)
        throw ConfigError(cat(path.string(),
                              " is not the one that the checkpoint was written with: its SHA-256 ", "is ",
                              found, ", recorded is ", sha256, "; ", copy_again));
    return bytes;
}

// Throws ConfigError unless the folder holds exactly the parts of this save.
void check_parts(const fs::path& folder, const CheckpointState& state) {
    std::vector<std::string> wanted;
    for (const CheckpointPart& part : state.parts) wanted.push_back(part_file(state.save, part.number));
    std::sort(wanted.begin(), wanted.end());
    std::vector<std::string> found = archive::names_in(folder);
    std::erase_if(found, [](const std::string& name) { return !name.starts_with(part_prefix); });
    if (found == wanted) return;
    for (const std::string& name : wanted)
        if (!std::binary_search(found.begin(), found.end(), name))
            throw ConfigError(
                cat(folder.string(), " lacks ", name, ", one of its ", wanted.size(), " parts; ", copy_again));
    for (const std::string& name : found)
        if (!std::binary_search(wanted.begin(), wanted.end(), name))
            throw ConfigError(cat(folder.string(), " holds parts of several saves, ", wanted.front(), " and ",
                                  name, "; ", copy_again));
}

TensorEntry entry_of(const CheckpointTensor& tensor, std::size_t number) {
    return {.name = tensor.name,
            .type = tensor.type,
            .source = tensor.source,
            .shape = tensor.shape,
            .number = number};
}

}  // namespace

void verify_model_file(const fs::path& folder) {
    archive::hdf5::open_read_only(folder / model_file, copy_again);
}

CheckpointState read_checkpoint_state(const fs::path& folder) {
    const fs::path file = folder / state_file;
    return state_from_json(read_small_file(file), file.string());
}

ModelFiles open_checkpoint(const fs::path& folder) {
    const std::string text = read_small_file(folder / state_file);
    ModelFiles files;
    files.checkpoint = std::make_unique<CheckpointFolder>(
        folder, state_from_json(text, (folder / state_file).string()), sha256_hex(text));
    const CheckpointState& state = files.checkpoint->state;
    check_parts(folder, state);
    const fs::path config = folder / config_file;
    files.place = folder.string();
    files.config_text = read_recorded(config, state.config_sha256);
    files.config = model::model_from_config_json(files.config_text, config.string());
    if (!state.tokenizer_sha256.empty())
        files.tokenizer = read_recorded(folder / tokenizer_file, state.tokenizer_sha256);
    if (!state.generation_sha256.empty())
        files.generation = read_recorded(folder / generation_file, state.generation_sha256);
    for (std::size_t t = 0; t < state.tensors.size(); ++t)
        files.entries.push_back(entry_of(state.tensors[t], t));
    return files;
}

}  // namespace trireme::checkpoint
