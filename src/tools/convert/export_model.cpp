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

struct ShardFile {
    std::vector<const model::ParameterSpec*> specs;
    std::uint64_t bytes = 0;
};

using Types = std::map<std::string, archive::StoredType>;  // by tensor name

std::uint64_t bytes_of(const model::ParameterSpec& spec, const Types& types) {
    return spec.size() * bytes_of(types.at(spec.name));
}

// Cuts shards as Hugging Face does, in the order of the model. A tensor above the limit gets a shard of its own
// and does not end the current one.
std::vector<ShardFile> cut(const std::vector<model::ParameterSpec>& specs, const Types& types,
                           std::uint64_t limit) {
    std::vector<ShardFile> shards;
    ShardFile open;
    for (const model::ParameterSpec& spec : specs) {
        const std::uint64_t bytes = bytes_of(spec, types);
        if (bytes > limit) {
            shards.push_back({.specs = {&spec}, .bytes = bytes});
            continue;
        }
        if (open.bytes + bytes > limit) shards.push_back(std::exchange(open, {}));
        open.specs.push_back(&spec);
        open.bytes += bytes;
    }
    if (!open.specs.empty()) shards.push_back(std::move(open));
    return shards;
}

std::string five_digits(std::size_t number) {
    const std::string digits = std::to_string(number);
    return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
}

std::string shard_name(std::size_t shard, std::size_t count) {
    if (count == 1) return "model.safetensors";
    return cat("model-", five_digits(shard + 1), "-of-", five_digits(count), ".safetensors");
}

void write_shard(const checkpoint::StoredModel& stored, const ShardFile& shard, const Types& types,
                 const fs::path& path, Progress& progress) {
    std::map<std::string, const model::ParameterSpec*> by_name;
    std::vector<archive::StoredTensor> tensors;
    for (const model::ParameterSpec* spec : shard.specs) {
        by_name.emplace(spec->name, spec);
        archive::StoredTensor tensor;
        tensor.name = spec->name;
        tensor.type = types.at(spec->name);
        tensor.shape.assign(spec->shape.begin(), spec->shape.end());
        tensors.push_back(std::move(tensor));
    }
    archive::SafetensorsWriter writer(path, std::move(tensors), {{"format", "pt"}});
    for (const archive::StoredTensor& tensor : writer.tensors()) {
        std::vector<std::byte> bytes(tensor.bytes());
        stored.read(*by_name.at(tensor.name), tensor.type, bytes);
        writer.write(bytes);
        progress.advance(1e-6 * static_cast<double>(by_name.at(tensor.name)->size()));
    }
    writer.finish();
}

std::string index_text(const std::vector<ShardFile>& shards, std::uint64_t bytes) {
    nlohmann::json index;
    std::uint64_t parameters = 0;
    for (std::size_t i = 0; i < shards.size(); ++i) {
        for (const model::ParameterSpec* spec : shards[i].specs) {
            index["weight_map"][spec->name] = shard_name(i, shards.size());
            parameters += spec->size();
        }
    }
    index["metadata"] = {{"total_parameters", parameters}, {"total_size", bytes}};
    return index.dump(2) + "\n";
}

// Returns the type of most parameters, because config.json names only one.
archive::StoredType main_type(const std::vector<model::ParameterSpec>& specs, const Types& types) {
    std::map<archive::StoredType, std::uint64_t> parameters;
    for (const model::ParameterSpec& spec : specs) parameters[types.at(spec.name)] += spec.size();
    const auto most = std::max_element(parameters.begin(), parameters.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == parameters.end() ? archive::StoredType::f32 : most->first;
}

std::string names_of(const Types& types) {
    std::map<std::string, int> names;
    for (const auto& [tensor, type] : types) ++names[name_of(type)];
    std::string text;
    for (const auto& [name, count] : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace

ExportFacts export_model(const checkpoint::StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                         const ExportPlan& plan, Progress& progress) {
    Types types;
    for (const model::ParameterSpec& spec : specs)
        types.emplace(spec.name, plan.dtype.value_or(stored.type_of(spec)));
    const std::vector<ShardFile> shards = cut(specs, types, plan.shard_bytes);
    ExportFacts facts{.files = shards.size(), .types = names_of(types)};
    archive::PartialFolder folder(plan.folder, archive::Existing::refused);
    for (std::size_t i = 0; i < shards.size(); ++i) {
        write_shard(stored, shards[i], types, folder.partial_path() / shard_name(i, shards.size()), progress);
        facts.bytes += shards[i].bytes;
    }
    if (shards.size() > 1)
        archive::write_whole_file(folder.partial_path() / "model.safetensors.index.json",
                                  index_text(shards, facts.bytes));
    archive::write_whole_file(
        folder.partial_path() / "config.json",
        config_json_of(stored.config(), torch_name_of(main_type(specs, types)), stored.config_text()));
    if (!stored.tokenizer().empty())
        archive::write_whole_file(folder.partial_path() / "tokenizer.json", stored.tokenizer());
    if (!stored.generation().empty())
        archive::write_whole_file(folder.partial_path() / "generation_config.json", stored.generation());
    folder.keep("config.json");
    return facts;
}

}  // namespace trireme::tools
