// Writes checkpoints (see docs/reference/file-formats.md). A checkpoint is a folder step-N with
//   part-<save id>-<rank>.h5      boxes of tensors and their moments, one file per rank
//   resizing-<save id>-<rank>.h5  resizing state, one file per rank if ranks may skip channels
//   model.h5                      every whole tensor as a virtual dataset, for users' tools
//   config.json                   the model, in Hugging Face's format
//   tokenizer.json                if the run has a tokenizer
//   generation_config.json        if the model came from Hugging Face and had one
//   state.json                    which part holds which boxes, and the state of the training loop
// The folder is written under a hidden name, synced, and renamed. Then its name is written to the file `latest`
// in the same folder of checkpoints.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "trireme/archive/partial_folder.hpp"
#include "trireme/checkpoint/checkpoint_state.hpp"
#include "trireme/checkpoint/part_writer.hpp"
#include "trireme/model/config.hpp"

namespace trireme::checkpoint {

// The contents of model.h5. A run computes them once per plan for all saves, because HDF5 spends time on every
// tensor.
class VirtualModelFile {
public:
    // Computes the contents for the save of `state`. Throws ResourceError if HDF5 fails.
    explicit VirtualModelFile(const CheckpointState& state);

    // Returns the bytes of model.h5 for the save `save_id`. `save_id` must be as long as the save id of the
    // state that the constructor received. Does not use HDF5. May be called by any thread.
    std::string make_bytes(const std::string& save_id) const;

private:
    std::string save_id_;  // of the state that was passed to the constructor
    std::string bytes_;    // contents of model.h5 for that save
};

// The files of a checkpoint that describe the model.
struct ModelDescription {
    std::string config;                  // contents of config.json
    std::string tokenizer = {};          // contents of tokenizer.json; empty if there is none
    std::string generation_config = {};  // contents of generation_config.json; empty if there is none
};

// Returns the contents of config.json for a checkpoint with `tensors`. `base` is the contents of the
// config.json of the model from which the run started, or empty. to_config_json() describes its use.
std::string make_config_text(const model::ModelConfig& model, const std::vector<CheckpointTensor>& tensors,
                             const std::string& base = "");

// Returns a state with `tensors`, a new save id and the checksums of `description`, but without parts.
CheckpointState make_checkpoint_state(const ModelDescription& description,
                                      std::vector<CheckpointTensor> tensors);

// Returns the path of the checkpoint after `step` steps. The checkpoint need not exist. Here and below,
// `checkpoints` is the folder of all checkpoints of a run.
std::filesystem::path make_checkpoint_path(const std::filesystem::path& checkpoints, std::uint64_t step);

// If several ranks write one checkpoint, each rank writes its part into the folder of make_save_folder(). After
// all parts are written and synced, one rank calls complete_checkpoint(). The following functions throw
// ResourceError if the operating system reports an error such as a full disk, and ConfigError if files cannot
// be written in `checkpoints`.
//
// Creates the hidden folder of a save, unless another rank has created it, and returns its path. All ranks that
// pass the same CheckpointState::save_id and step get the same folder.
std::filesystem::path make_save_folder(const std::filesystem::path& checkpoints, const CheckpointState& state);
// Writes all files except part-*.h5 and resizing-*.h5, renames the folder to step-N and writes `latest`.
// Returns the path of the checkpoint when all of the checkpoint is on disk. May be called by any thread.
// `virtual_model_file` may have been made for an earlier save with the same parts.
std::filesystem::path complete_checkpoint(const std::filesystem::path& checkpoints,
                                          const CheckpointState& state,
                                          const VirtualModelFile& virtual_model_file,
                                          const ModelDescription& description,
                                          const PhaseObserver& before_phase = {});
// Removes the oldest checkpoints until `count` remain, but never the one that `latest` names. If `count` is 0,
// removes none.
void remove_old_checkpoints(const std::filesystem::path& checkpoints, std::size_t count,
                            const PhaseObserver& before_phase = {});

// Returns the bytes of the rows `rows` of the tensor CheckpointState::tensors[`tensor`]. The bytes must stay
// valid until the next call.
using TensorRowReader = std::function<std::span<const std::byte>(std::size_t tensor, layout::Range rows)>;

// Writes the checkpoint after `state.step` steps from a single process. The checkpoint has one part, with
// values and no moments. `existing` says whether an existing checkpoint of that step may be replaced. Returns
// the path of the checkpoint. Leaves no incomplete checkpoint if an exception is thrown.
std::filesystem::path write_checkpoint(const std::filesystem::path& checkpoints, CheckpointState state,
                                       const ModelDescription& description, const TensorRowReader& read_rows,
                                       archive::ExistingFolder existing);

}  // namespace trireme::checkpoint
