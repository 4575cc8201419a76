// A model on disk, whoever wrote it: a checkpoint of ours, or a folder or file of Hugging Face's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/safetensors.hpp"
#include "trireme/base/progress.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/checkpoint/state_view.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::checkpoint {

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
    const model::ModelConfig& config() const;
    const std::string& config_text() const;  // the config.json that says so
    std::uint64_t step() const;              // updates behind it; 0 of Hugging Face's
    const CheckpointState* state() const;    // of a checkpoint; none: Hugging Face's
    const std::string& tokenizer() const;    // the bytes of a tokenizer.json; empty: none is there
    const std::string& generation() const;   // the bytes of a generation_config.json; empty: none is there

    // Whether the parameter is there, under its name or one that Hugging Face has used for it: without the
    // prefix of the base model ("wte.weight"), with gamma and beta for gains and biases of norms. Throws
    // ConfigError if it is there with another shape or in a type that holds no weights.
    bool has(const model::ParameterSpec& spec) const;

    // The type and the bytes as they are stored; in a checkpoint, as they were before they became one.
    archive::StoredType type_of(const model::ParameterSpec& spec) const;
    // What this rank holds of those that are there, in bytes as they are stored.
    std::size_t stored_bytes(const std::vector<model::ParameterSpec>& specs) const;
    // What this rank holds of a parameter, into `values`, which has its rows and columns. Reads no more than
    // the rows that it needs, a block at a time, and converts them. Throws ConfigError for a file that is cut
    // short or does not fit its checksums, as all below do.
    void read(const model::ParameterSpec& spec, device::Tensor values) const;
    // Likewise of all that are there, in the order of the disk, by so many threads: that of a checkpoint.
    void read(const std::vector<model::ParameterSpec>& specs, const model::ParameterTensors& values,
              int threads) const;
    // All of a parameter, into bytes of a floating-point type, rounded once.
    void read(const model::ParameterSpec& spec, archive::StoredType type, std::span<std::byte> bytes) const;
    // Of a checkpoint that has the tensors and the fields: likewise what the views are of; and how many updates
    // are behind their moments.
    void read(const std::vector<StateView>& views, int threads) const;
    std::uint64_t updates_behind(const std::vector<StateView>& views) const;

    // Every stored tensor, by name; a type is that of type_of().
    std::vector<archive::StoredTensor> tensors() const;
    // Reads every byte, and opens what a checkpoint has for people. Throws ConfigError where a file is cut
    // short, or something does not fit its checksum.
    void verify() const;

    // Names of stored tensors that none of the parameters is.
    std::vector<std::string> unused(const std::vector<model::ParameterSpec>& specs) const;

private:
    friend class ReadProgress;
    struct Storage;
    explicit StoredModel(std::unique_ptr<Storage> storage);

    std::unique_ptr<Storage> storage_;
};

// While it exists, a line on the terminal shows how much of `stored` has been read. Reads of all bytes of a
// parameter are not counted.
class ReadProgress {
public:
    // `total_bytes` will be read, as they are stored. `stored` outlives it.
    ReadProgress(const StoredModel& stored, std::size_t total_bytes, bool is_quiet);
    ~ReadProgress();
    ReadProgress(const ReadProgress&) = delete;
    ReadProgress& operator=(const ReadProgress&) = delete;

    void add(std::size_t bytes);  // for any thread

private:
    const StoredModel& stored_;
    std::mutex mutex_;
    Progress line_;
};

inline constexpr const char* checkpoints_folder = "checkpoints";  // of a run directory

// The checkpoint that a folder step-N is, or the newest one of a folder of checkpoints or a run directory.
// Throws ConfigError where there is none.
std::filesystem::path checkpoint_at(const std::filesystem::path& path);
// The newest one of a folder of checkpoints; none where there is none. Where a save was ended before it wrote
// `latest`, the folders themselves say which it is.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& folder);

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
LoadReport check_fit(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs);

// Reads every parameter that is there, after check_fit().
LoadReport load(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                const model::ParameterTensors& values, int threads = 1);

}  // namespace trireme::checkpoint
