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

constexpr std::string_view again = "copy or download the folder again";

// Returns the shard of each tensor, as the index says.
std::map<std::string, std::string> read_index(const fs::path& path) {
    const json index = parse_json<json>(read_small_file(path), path.string());
    const auto map = index.is_object() ? index.find("weight_map") : index.end();
    if (!index.is_object() || map == index.end() || !map->is_object())
        throw ConfigError(
            cat(path.string(), " is no index of safetensors files: it has no weight_map; ", again));
    std::map<std::string, std::string> shards;
    for (const auto& [tensor, shard] : map->items()) {
        const std::string name = shard.is_string() ? shard.get<std::string>() : "";
        // The index is untrusted: a shard's name must be a file of this folder.
        if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
            name.find('\0') != std::string::npos)
            throw ConfigError(
                cat(path.string(), " puts ", in_quotes(tensor), " into ",
                    shard.is_string() ? in_quotes(name) : cat("a value that is ", shard.type_name()),
                    ", which is not the name of a file beside it; ", again));
        shards.emplace(tensor, name);
    }
    return shards;
}

std::size_t add_file(ModelFiles& model, const fs::path& path) {
    model.files.push_back(archive::SafetensorsFile::open(path));
    model.file_paths.push_back(path.string());
    return model.files.size() - 1;
}

const archive::SafetensorsHeader& header_of(const ModelFiles& model, std::size_t file) {
    return model.files[file].header();
}

void add_tensor(ModelFiles& model, const archive::StoredTensor& tensor, std::size_t file) {
    model.entries.push_back({.name = tensor.name,
                             .type = tensor.type,
                             .source = tensor.type,
                             .shape = tensor.shape,
                             .file = file,
                             .place = tensor});
}

void open_single(ModelFiles& model, const fs::path& path) {
    const std::size_t file = add_file(model, path);
    for (const archive::StoredTensor& tensor : header_of(model, file).tensors) add_tensor(model, tensor, file);
}

void open_shards(ModelFiles& model, const fs::path& folder) {
    const fs::path index = folder / index_file;
    // The tensors that each shard must contain.
    std::map<std::string, std::map<std::string, const archive::StoredTensor*>> missing;
    for (const auto& [tensor, shard] : read_index(index)) missing[shard].emplace(tensor, nullptr);
    for (auto& [shard, tensors] : missing) {
        if (!is_there(folder / shard))
            throw ConfigError(cat(index.string(), " names ", in_quotes(shard), ", which is missing; ", again));
        const std::size_t file = add_file(model, folder / shard);
        for (const archive::StoredTensor& tensor : header_of(model, file).tensors) {
            if (tensors.erase(tensor.name) > 0) add_tensor(model, tensor, file);
        }
        if (!tensors.empty())
            throw ConfigError(cat((folder / shard).string(), " has no tensor ",
                                  in_quotes(tensors.begin()->first), ", which ", index_file, " puts into it; ",
                                  again));
    }
}

}  // namespace

ModelFiles open_huggingface(const fs::path& path) {
    std::error_code ignored;
    const bool is_folder = fs::is_directory(path, ignored);
    const fs::path folder = is_folder ? path : path.parent_path();
    const fs::path config = folder / checkpoint_schema::config_file;
    if (!is_there(config))
        throw ConfigError(cat("there is no config.json beside ",
                              (is_folder ? path / single_file : path).string(),
                              ", which says what kind of model it is; copy it there"));
    ModelFiles model;
    model.place = path.string();
    model.config_text = read_small_file(config);
    model.config = model::model_from_config_json(model.config_text, config.string());
    const fs::path tokenizer = folder / checkpoint_schema::tokenizer_file;
    if (is_there(tokenizer)) model.tokenizer = read_small_file(tokenizer);
    const fs::path generation = folder / checkpoint_schema::generation_file;
    if (is_there(generation)) model.generation = read_small_file(generation);
    if (!is_folder) {
        open_single(model, path);
    } else if (is_there(path / single_file)) {
        open_single(model, path / single_file);
    } else {
        open_shards(model, path);
    }
    return model;
}

}  // namespace trireme::checkpoint
