// A GPT-2 model with few parameters, and its files in the format of Hugging Face.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "scratch_folder.hpp"
#include "trireme/archive/safetensors.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/config_json.hpp"
#include "trireme/model/model.hpp"

namespace trireme::checkpoint {

inline model::ModelConfig small_config() {
    model::ModelConfig config;
    config.name = "gpt2";
    config.layers = 1;
    config.width = 4;
    config.heads = 2;
    config.mlp_width = 16;
    config.positions = 3;
    config.vocabulary = 5;
    return config;
}

inline std::vector<model::ParameterSpec> specs_of(const model::ModelConfig& config) {
    return list_unique_parameters(build_layers(config));
}

struct FileTensor {
    std::string name;
    std::vector<std::uint64_t> shape;
    std::vector<float> values;
};

// Returns the tensors of a model with distinct whole numbers: element e of parameter i is 1000 i + e.
inline std::vector<FileTensor> counted_tensors(const std::vector<model::ParameterSpec>& specs) {
    std::vector<FileTensor> tensors;
    for (const model::ParameterSpec& spec : specs) {
        FileTensor tensor{spec.name, {spec.shape.begin(), spec.shape.end()}, std::vector<float>(spec.size())};
        for (std::size_t i = 0; i < tensor.values.size(); ++i)
            tensor.values[i] = static_cast<float>(1000 * tensors.size() + i);
        tensors.push_back(std::move(tensor));
    }
    return tensors;
}

inline void write_safetensors(const std::string& path, const std::vector<FileTensor>& tensors) {
    std::vector<archive::StoredTensor> stored;
    std::map<std::string, const FileTensor*> by_name;
    for (const FileTensor& tensor : tensors) {
        stored.emplace_back();
        stored.back().name = tensor.name;
        stored.back().shape = tensor.shape;
        by_name[tensor.name] = &tensor;
    }
    archive::SafetensorsWriter writer(path, stored, {{"format", "pt"}});
    for (const archive::StoredTensor& tensor : writer.tensors())
        writer.write(std::as_bytes(std::span(by_name.at(tensor.name)->values)));
    writer.finish();
}

// Writes config.json and model.safetensors into `folder`.
inline void write_model(const validation::ScratchFolder& folder, const model::ModelConfig& config,
                        const std::vector<FileTensor>& tensors) {
    folder.write("config.json", to_config_json(config));
    write_safetensors(folder.file("model.safetensors"), tensors);
}

}  // namespace trireme::checkpoint
