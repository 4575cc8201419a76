// A model on disk, whoever wrote it: a checkpoint of ours, or a folder or file of Hugging Face's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/safetensors.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme {

class StoredModel {
public:
    // `path` is a checkpoint (a folder step-N), a folder of checkpoints or a run directory (the latest one), a
    // folder with config.json and model.safetensors or model.safetensors.index.json, or a .safetensors file
    // with a config.json beside it. Reads no tensor. Throws ConfigError where it is none of them or does not
    // hold together.
    static StoredModel open(const std::filesystem::path& path);

    StoredModel(StoredModel&&) noexcept;
    StoredModel& operator=(StoredModel&&) noexcept;
    ~StoredModel();

    const std::string& place() const;  // what was opened, for messages
    bool is_checkpoint() const;        // of ours
    const ModelConfig& config() const;
    const std::string& config_text() const;  // the config.json that says so
    std::uint64_t step() const;              // updates behind it; 0 of Hugging Face's
    const std::string& tokenizer() const;    // the bytes of a tokenizer.json; empty: none is there

    // Whether the parameter is there, under its name or one that Hugging Face has used for it: without the
    // prefix of the base model ("wte.weight"), with gamma and beta for gains and biases of norms. Throws
    // ConfigError if it is there with another shape or in a type that holds no weights.
    bool has(const ParameterSpec& spec) const;

    // The type and the bytes as they are stored; in a checkpoint, as they were before they became one.
    StoredType type_of(const ParameterSpec& spec) const;
    // Converts to the type of `values`, which has the parameter's rows and columns and is contiguous. Throws
    // ConfigError for a part that is cut short or does not fit its checksum.
    void read(const ParameterSpec& spec, Tensor values) const;
    // The same into bytes of a floating-point type, rounded once.
    void read(const ParameterSpec& spec, StoredType type, std::span<std::byte> bytes) const;

    // Every stored tensor, by name; a type is that of type_of().
    std::vector<StoredTensor> tensors() const;
    // Reads every byte, and opens what a checkpoint has for people. Throws ConfigError where a file is cut
    // short, or something does not fit its checksum.
    void verify() const;

    // Names of stored tensors that none of the parameters is.
    std::vector<std::string> unused(const std::vector<ParameterSpec>& specs) const;

private:
    struct Storage;
    explicit StoredModel(std::unique_ptr<Storage> storage);

    std::unique_ptr<Storage> storage_;
};

// The stored model that a file beside its tensors, such as config.json or part-*.h5, belongs to; none where
// there is none. Of the file `latest`, the model that it names.
std::optional<std::filesystem::path> model_of_file(const std::filesystem::path& file);

// What became of a list of parameters.
struct LoadReport {
    std::vector<std::string> missing;  // parameters of the head that keep their first values
    std::vector<std::string> unused;   // stored tensors that the model has no place for
};

// Whether the parameters can be read, without reading them. Those of a head may be missing (another task is
// being learned), others not: ConfigError.
LoadReport check_fit(const StoredModel& stored, const std::vector<ParameterSpec>& specs);

// Reads every parameter that is there, after check_fit().
LoadReport load(const StoredModel& stored, const std::vector<ParameterSpec>& specs,
                const ParameterTensors& values);

}  // namespace trireme
