// Opens what Hugging Face's save_pretrained() writes: one safetensors file, or several with an index.
#include <map>
#include <nlohmann/json.hpp>

#include "checkpoint/model_files.hpp"
#include "checkpoint/schema.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme::checkpoint {
namespace fs = std::filesystem;
namespace {

using namespace huggingface_files;
using nlohmann::json;

constexpr std::string_view download_hint = "copy or download the folder again";

// Returns the file (shard) of each tensor, according to the index.
std::map<std::string, std::string> read_index(const fs::path& path) {
    const json index = parse_json<json>(read_small_file(path), path.string());
    const auto map = index.is_object() ? index.find("weight_map") : index.end();
    if (!index.is_object() || map == index.end() || !map->is_object())
        throw ConfigError(
            cat(path.string(), " is not an index of safetensors files: it has no weight_map; ", download_hint));
    std::map<std::string, std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
        const std::string name = shard.is_string() ? shard.get<std::string>() : "";
        // The index may be malicious: a shard must be a file in the same folder.
        if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
            name.find('\0') != std::string::npos)
            throw ConfigError(
                cat(path.string(), " assigns the tensor ", quote_text(tensor), " to ",
                    shard.is_string() ? quote_text(name) : cat("a value of type ", shard.type_name()),
                    ", which is not the name of a file in the index's folder; ", download_hint));
        shards.emplace(tensor, name);
    }
    return shards;
}

// Opens a safetensors file and returns its index in model.files.
std::size_t add_file(ModelFiles& model, const fs::path& path) {
    model.files.push_back(archive::SafetensorsFile::open(path));
    model.file_paths.push_back(path.string());
    return model.files.size() - 1;
}

const archive::SafetensorsHeader& find_header(const ModelFiles& model, std::size_t file_index) {
    return model.files[file_index].header();
}

void add_tensor(ModelFiles& model, const archive::StoredTensor& tensor, std::size_t file_index) {
    model.entries.push_back({.name = tensor.name,
                             .type = tensor.type,
                             .original_type = tensor.type,
                             .shape = tensor.shape,
                             .file_index = file_index,
                             .position_in_file = tensor});
}

void open_single(ModelFiles& model, const fs::path& path) {
    const std::size_t file_index = add_file(model, path);
    for (const archive::StoredTensor& tensor : find_header(model, file_index).tensors)
        add_tensor(model, tensor, file_index);
}

void open_shards(ModelFiles& model, const fs::path& folder) {
    const fs::path index = folder / index_file;
    // Per shard: the names of the tensors that the index assigns to the shard, until the shard is found to hold
    // them. The pointers are not used.
    std::map<std::string, std::map<std::string, const archive::StoredTensor*>> missing;
    for (const auto& [tensor, shard] : read_index(index)) missing[shard].emplace(tensor, nullptr);
    for (auto& [shard, tensors] : missing) {
        if (!path_exists(folder / shard))
            throw ConfigError(
                cat(index.string(), " names ", quote_text(shard), ", which is missing; ", download_hint));
        const std::size_t file_index = add_file(model, folder / shard);
        for (const archive::StoredTensor& tensor : find_header(model, file_index).tensors) {
            if (tensors.erase(tensor.name) > 0) add_tensor(model, tensor, file_index);
        }
        if (!tensors.empty())
            throw ConfigError(cat((folder / shard).string(), " has no tensor ",
                                  quote_text(tensors.begin()->first), ", which ", index_file,
                                  " assigns to it; ", download_hint));
    }
}

}  // namespace

ModelFiles open_huggingface(const fs::path& path) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(path, ignored);
    const fs::path folder = is_folder ? path : path.parent_path();
    const fs::path config = folder / checkpoint_schema::config_file;
    if (!path_exists(config))
        throw ConfigError(cat("there is no config.json next to ",
                              (is_folder ? path / single_file : path).string(),
                              "; copy the config.json of the model into that folder"));
    ModelFiles model;
    model.path = path.string();
    model.config_text = read_small_file(config);
    model.config = model::parse_config_json(model.config_text, config.string());
    const fs::path tokenizer = folder / checkpoint_schema::tokenizer_file;
    if (path_exists(tokenizer)) model.tokenizer = read_small_file(tokenizer);
    const fs::path generation = folder / checkpoint_schema::generation_file;
    if (path_exists(generation)) model.generation_config = read_small_file(generation);
    if (!is_folder) {
        open_single(model, path);
    } else if (path_exists(path / single_file)) {
        open_single(model, path / single_file);
    } else {
        open_shards(model, path);
    }
    return model;
}

}  // namespace trireme::checkpoint
