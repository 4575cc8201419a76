// Reads a stored model: a checkpoint of Trireme, or a folder or file in Hugging Face's format.
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

// A model on disk, opened for reading.
class StoredModel {
public:
    // Opens the model at `path` without reading tensors. `path` is one of
    //   a checkpoint (a folder step-N)
    //   a folder of checkpoints or a run directory: opens its newest checkpoint
    //   a folder with config.json and model.safetensors or model.safetensors.index.json
    //   a .safetensors file with a config.json beside it.
    // Throws ConfigError if `path` is none of these, or if the files of the model are inconsistent.
    static StoredModel open(const std::filesystem::path& path);

    StoredModel(StoredModel&&) noexcept;
    StoredModel& operator=(StoredModel&&) noexcept;
    ~StoredModel();

    const std::string& path() const;  // of the checkpoint, folder or file that was opened
    bool is_checkpoint() const;       // false for Hugging Face's format
    const model::ModelConfig& config() const;
    const std::string& config_text() const;  // contents of config.json
    std::uint64_t step() const;              // steps of the run before the save; 0 for Hugging Face's format
    const CheckpointState* state() const;    // null for Hugging Face's format
    const std::string& tokenizer() const;    // contents of tokenizer.json; empty if there is none
    const std::string& generation_config() const;  // contents of generation_config.json; empty if there is none

    // Returns true if the parameter is stored under its own name or under an alternative name of Hugging Face.
    // An alternative name lacks the prefix of the base model ("wte.weight"), or has gamma and beta for the gain
    // and bias of a norm. Throws ConfigError if the parameter is stored with another shape, or not in a
    // floating-point type.
    bool has(const model::ParameterSpec& spec) const;

    // Returns the element type of a stored parameter; for a checkpoint, CheckpointTensor::original_type.
    archive::StoredType find_original_type(const model::ParameterSpec& spec) const;
    // Returns the total bytes of this rank's slices in their stored types. Counts only those parameters in
    // `specs` that are stored.
    std::size_t count_stored_bytes(const std::vector<model::ParameterSpec>& specs) const;
    // Reads this rank's slice of a parameter into `values`, which has the shape of the slice and may be of
    // another type. From a checkpoint, reads only the blocks that overlap the slice; each block has a checksum.
    // All read() functions and verify() throw ConfigError if a file is truncated or does not match its
    // checksums.
    void read(const model::ParameterSpec& spec, device::Tensor values) const;
    // Reads this rank's slice of each stored parameter `specs[i]` into `values[i]`. Skips parameters that are
    // not stored. A checkpoint is read by max(`threads`, 2) threads, file by file, in the order of the offsets
    // in each file. Files in Hugging Face's format are read by the calling thread only.
    void read(const std::vector<model::ParameterSpec>& specs, std::span<const device::Tensor> values,
              int threads) const;
    // Reads a whole parameter into `bytes` as elements of `type`, a floating-point type. Rounds each element
    // once.
    void read(const model::ParameterSpec& spec, archive::StoredType type, std::span<std::byte> bytes) const;
    // Fills the memory of `views` from a checkpoint, which must have the tensors and fields of all views.
    void read(const std::vector<StateView>& views, int threads) const;
    // True if a checkpoint has moments of the tensor, which was not frozen.
    bool has_moments(const std::string& tensor) const;
    // Returns the number of optimizer updates after which the moments of each tensor of `views` were stored.
    // Throws ConfigError if parts record different numbers for a tensor.
    UpdateCounts read_update_counts(const std::vector<StateView>& views) const;

    // Returns the stored tensors, sorted by name. StoredTensor::type is the original type (see
    // find_original_type()). StoredTensor::count_bytes() is the size in the file, where the type may differ.
    std::vector<archive::StoredTensor> list_tensors() const;
    // Reads all tensors. For a checkpoint, compares the checksums of the tensors, and verifies model.h5 and the
    // files resizing-*.h5. Hugging Face's format has no checksums.
    void verify() const;

    // Returns the names of stored tensors that belong to none of the parameters `specs`. Omits tensors that the
    // model does not need, such as causal masks.
    std::vector<std::string> list_unused_tensors(const std::vector<model::ParameterSpec>& specs) const;

private:
    friend class ReadProgress;
    struct Storage;
    explicit StoredModel(std::unique_ptr<Storage> storage);

    std::unique_ptr<Storage> storage_;
};

// Shows the progress of reads of `stored` on the terminal while this object exists. Does not count the read()
// of a whole parameter into bytes.
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

inline constexpr const char* checkpoints_folder = "checkpoints";  // folder name in a run directory

// Returns `path` if it is a checkpoint (a folder step-N). If `path` is a folder of checkpoints or a run
// directory, returns its newest checkpoint. Throws ConfigError if there is none.
std::filesystem::path find_checkpoint(const std::filesystem::path& path);
// Returns the newest checkpoint of a folder of checkpoints, or nullopt if the folder has none. The newest
// checkpoint is the one that the file `latest` names. Without that file, it is the folder step-N with the
// largest N.
std::optional<std::filesystem::path> find_newest_checkpoint(const std::filesystem::path& folder);

// Returns the folder of the stored model that has the file `file`, for example config.json or part-*.h5.
// Returns nullopt if the file belongs to no model, or is a .safetensors file: StoredModel::open() accepts its
// path. For the file `latest`, returns the checkpoint that `latest` names.
std::optional<std::filesystem::path> find_model_of_file(const std::filesystem::path& file);

// The differences between the tensors of a stored model and a list of parameters.
struct LoadReport {
    std::vector<std::string> missing_parameters;  // parameters of the head that are not stored
    std::vector<std::string> unused_tensors;      // stored tensors that are none of the parameters
};

// Checks that the parameters can be read, without reading them. Throws ConfigError if a parameter that does not
// belong to the head is missing. Parameters of the head may be missing, because the stored model may be of
// another task.
LoadReport check_parameters(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs);

// Calls check_parameters(), then reads every stored parameter. `values` of other parameters do not change.
LoadReport load_parameters(const StoredModel& stored, const std::vector<model::ParameterSpec>& specs,
                           std::span<const device::Tensor> values, int threads = 1);

}  // namespace trireme::checkpoint
