// Reads a model from disk: a checkpoint of Trireme, or a folder or file in Hugging Face's format.
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
    // Opens the model at `path`, without reading tensors. `path` is one of
    //   a checkpoint (a folder step-N)
    //   a folder of checkpoints or a run directory, of which the latest checkpoint is opened
    //   a folder with config.json and model.safetensors or model.safetensors.index.json
    //   a .safetensors file with a config.json beside it.
    // Throws ConfigError if it is none of these or is inconsistent.
    static StoredModel open(const std::filesystem::path& path);

    StoredModel(StoredModel&&) noexcept;
    StoredModel& operator=(StoredModel&&) noexcept;
    ~StoredModel();

    const std::string& place() const;  // path of the model, for messages
    bool is_checkpoint() const;        // false for Hugging Face's format
    const model::ModelConfig& config() const;
    const std::string& config_text() const;  // contents of config.json
    std::uint64_t step() const;              // number of updates; 0 for Hugging Face's format
    const CheckpointState* state() const;    // null for Hugging Face's format
    const std::string& tokenizer() const;    // contents of tokenizer.json; empty if there is none
    // Returns the contents of generation_config.json; empty if there is none.
    const std::string& generation() const;

    // True if the parameter is stored, under its name or one that Hugging Face has used for it. Such names lack
    // the base model's prefix ("wte.weight") or call gains and biases of norms gamma and beta. Throws
    // ConfigError if it is stored with another shape or in a type that holds no weights.
    bool has(const model::ParameterSpec& spec) const;

    // Returns the element type of a stored parameter; for a checkpoint, the type before the tensor was stored
    // there.
    archive::StoredType type_of(const model::ParameterSpec& spec) const;
    // Returns the size in bytes, in the stored type, of this rank's slices of those parameters that are stored.
    std::size_t stored_bytes(const std::vector<model::ParameterSpec>& specs) const;
    // Reads this rank's slice of a parameter into `values`, whose shape is the slice's. Reads only the rows
    // that it needs, a block at a time, and converts them. Like the functions below, throws ConfigError if a
    // file is cut short or does not match its checksums.
    void read(const model::ParameterSpec& spec, device::Tensor values) const;
    // Reads all of these parameters that are stored. A checkpoint is read in the order of the disk by `threads`
    // threads.
    void read(const std::vector<model::ParameterSpec>& specs, const model::ParameterTensors& values,
              int threads) const;
    // Reads a whole parameter into bytes of a floating-point type, with one rounding.
    void read(const model::ParameterSpec& spec, archive::StoredType type, std::span<std::byte> bytes) const;
    // Reads the contents of `views` from a checkpoint that has these tensors and fields.
    void read(const std::vector<StateView>& views, int threads) const;
    // Returns the number of updates that the moments of `views` contain. Throws ConfigError if parts differ in
    // it.
    std::uint64_t updates_behind(const std::vector<StateView>& views) const;

    // Returns every stored tensor in the order of names, with the type of type_of().
    std::vector<archive::StoredTensor> tensors() const;
    // Reads every byte. Also checks that the other files of a checkpoint can be opened. Throws ConfigError if a
    // file is cut short or does not match its checksum.
    void verify() const;

    // Returns the names of stored tensors that match none of the parameters.
    std::vector<std::string> unused(const std::vector<model::ParameterSpec>& specs) const;

private:
    friend class ReadProgress;
    struct Storage;
    explicit StoredModel(std::unique_ptr<Storage> storage);

    std::unique_ptr<Storage> storage_;
};

// Shows a progress line on the terminal for reads of `stored` as long as it exists. The function that reads a
// whole parameter into bytes does not count.
class ReadProgress {
public:
    // `total_bytes` is the number of stored bytes that will be read. `stored` must outlive this object.
    ReadProgress(const StoredModel& stored, std::size_t total_bytes, bool is_quiet);
    ~ReadProgress();
    ReadProgress(const ReadProgress&) = delete;
    ReadProgress& operator=(const ReadProgress&) = delete;

    void add(std::size_t bytes);  // may be called by any thread

private:
    const StoredModel& stored_;
    std::mutex mutex_;
    Progress line_;
};

inline constexpr const char* checkpoints_folder = "checkpoints";  // folder in a run directory

// Returns `path` if it is a checkpoint (a folder step-N), or else the newest checkpoint of a folder of
// checkpoints or a run directory. Throws ConfigError if there is none.
std::filesystem::path checkpoint_at(const std::filesystem::path& path);
// Returns the newest checkpoint of a folder of checkpoints, or nullopt if there is none. If a save ended before
// it wrote `latest`, the names of the folders decide.
std::optional<std::filesystem::path> newest_checkpoint(const std::filesystem::path& folder);

// Returns the stored model to which a file beside its tensors belongs, such as config.json or part-*.h5, or
// nullopt. For the file `latest` returns the model that it names.
std::optional<std::filesystem::path> model_of_file(const std::filesystem::path& file);

// The result of loading a list of parameters.
struct LoadReport {
    std::vector<std::string> missing;  // parameters of the head that keep their initial values
    std::vector<std::string> unused;   // stored tensors without a parameter in the model
};

// Checks that the parameters can be read, without reading them. Parameters of a head may be missing because
// another task is being learned. Throws ConfigError if others are.
LoadReport check_fit(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs);

// Calls check_fit(), then reads every parameter that is stored.
LoadReport load(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                const model::ParameterTensors& values, int threads = 1);

}  // namespace trireme::checkpoint
