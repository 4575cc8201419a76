#include "tools/convert/export_model.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "trireme/archive/float_types.hpp"
#include "trireme/archive/partial_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/model/config_json.hpp"

namespace trireme::tools {
namespace fs = std::filesystem;
namespace {

// The contents of one .safetensors file.
struct ShardFile {
    std::vector<const model::ParameterSpec*> specs;
    std::uint64_t bytes = 0;  // of the tensors, without the header
};

using TypesByName = std::map<std::string, archive::StoredType>;  // exported types, by tensor name

std::uint64_t byte_size(const model::ParameterSpec& spec, const TypesByName& types) {
    return spec.size() * byte_size(types.at(spec.name));
}

// Distributes the tensors over shards of at most `max_bytes` bytes, in the order of the model, as Hugging Face
// does. A tensor of more than `max_bytes` bytes gets a shard of its own. Such a tensor does not end the
// current shard: the tensors after it are added to the current shard.
std::vector<ShardFile> cut_into_shards(const std::vector<model::ParameterSpec>& specs, const TypesByName& types,
                                       std::uint64_t max_bytes) {
    std::vector<ShardFile> shards;
    ShardFile current_shard;
    for (const model::ParameterSpec& spec : specs) {
        const std::uint64_t bytes = byte_size(spec, types);
        if (bytes > max_bytes) {
            shards.push_back({.specs = {&spec}, .bytes = bytes});
            continue;
        }
        if (current_shard.bytes + bytes > max_bytes) shards.push_back(std::exchange(current_shard, {}));
        current_shard.specs.push_back(&spec);
        current_shard.bytes += bytes;
    }
    if (!current_shard.specs.empty()) shards.push_back(std::move(current_shard));
    return shards;
}

std::string pad_to_five_digits(std::size_t number) {
    const std::string digits = std::to_string(number);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

std::string make_shard_name(std::size_t shard_index, std::size_t shard_count) {
    if (shard_count == 1) return "model.safetensors";
    return cat("model-", pad_to_five_digits(shard_index + 1), "-of-", pad_to_five_digits(shard_count),
               ".safetensors");
}

void write_shard(const checkpoint::StoredModel& stored, const ShardFile& shard, const TypesByName& types,
                 const fs::path& path, Progress& progress) {
    std::map<std::string, const model::ParameterSpec*> specs_by_name;
    std::vector<archive::StoredTensor> tensors;
    for (const model::ParameterSpec* spec : shard.specs) {
        specs_by_name.emplace(spec->name, spec);
        archive::StoredTensor tensor;
        tensor.name = spec->name;
        tensor.type = types.at(spec->name);
        tensor.shape.assign(spec->shape.begin(), spec->shape.end());
        tensors.push_back(std::move(tensor));
    }
    archive::SafetensorsWriter writer(path, std::move(tensors), {{"format", "pt"}});
    for (const archive::StoredTensor& tensor : writer.tensors()) {
        std::vector<std::byte> bytes(tensor.count_bytes());
        stored.read(*specs_by_name.at(tensor.name), tensor.type, bytes);
        writer.write(bytes);
        progress.advance(1e-6 * static_cast<double>(specs_by_name.at(tensor.name)->size()));
    }
    writer.finish();
}

// Returns the index file, which maps the name of each tensor to its shard.
std::string make_index_json(const std::vector<ShardFile>& shards, std::uint64_t total_bytes) {
    nlohmann::json index;
    std::uint64_t parameters = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        for (const model::ParameterSpec* spec : shards[i].specs) {
            index["weight_map"][spec->name] = make_shard_name(i, shards.size());
            parameters += spec->size();
        }
    }
    index["metadata"] = {{"total_parameters", parameters}, {"total_size", total_bytes}};
    return index.dump(2) + "\n";
}

// Returns the type with the largest number of parameters, because config.json names only one type. Returns f32
// if there are no parameters.
archive::StoredType find_main_type(const std::vector<model::ParameterSpec>& specs, const TypesByName& types) {
    std::map<archive::StoredType, std::uint64_t> counts_by_type;
    for (const model::ParameterSpec& spec : specs) counts_by_type[types.at(spec.name)] += spec.size();
    const auto main_type = std::max_element(counts_by_type.begin(), counts_by_type.end(),
                                            [](const auto& a, const auto& b) { return a.second < b.second; });
    return main_type == counts_by_type.end() ? archive::StoredType::f32 : main_type->first;
}

// Returns the distinct types, for example "BF16, F32".
std::string join_type_names(const TypesByName& types) {
    std::map<std::string, int> counts_by_type_name;
    for (const auto& [tensor_name, type] : types) ++counts_by_type_name[to_string(type)];
    std::string text;
    for (const auto& [name, count] : counts_by_type_name) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

ExportFacts export_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                         const ExportOptions& plan, Progress& progress) {
    TypesByName types;
    for (const model::ParameterSpec& spec : specs)
        types.emplace(spec.name, plan.dtype.value_or(stored.find_original_type(spec)));
    const std::vector<ShardFile> shards = cut_into_shards(specs, types, plan.shard_bytes);
    ExportFacts facts{.files = shards.size(), .types = join_type_names(types)};
    archive::PartialFolder folder(plan.folder, archive::ExistingFolder::refuse);
    for (std::size_t i = 0; i < shards.size(); ++i) {
        write_shard(stored, shards[i], types, folder.partial_path() / make_shard_name(i, shards.size()),
                    progress);
        facts.bytes += shards[i].bytes;
    }
    if (shards.size() > 1)
        archive::write_file_atomically(folder.partial_path() / "model.safetensors.index.json",
                                       make_index_json(shards, facts.bytes));
    archive::write_file_atomically(
        folder.partial_path() / "config.json",
        to_config_json(stored.config(), torch_type_name(find_main_type(specs, types)), stored.config_text()));
    if (!stored.tokenizer().empty())
        archive::write_file_atomically(folder.partial_path() / "tokenizer.json", stored.tokenizer());
    if (!stored.generation_config().empty())
        archive::write_file_atomically(folder.partial_path() / "generation_config.json",
                                       stored.generation_config());
    folder.commit("config.json");
    return facts;
}

}  // namespace trireme::tools
