// Writes checkpoints (README, *Files*). A checkpoint is a folder step-N with
//   part-<save>-<rank>.h5   boxes of tensors and their moments, one file per rank
//   resizing-<save>-<rank>.h5   what a rank that may skip channels remembers, if there are such ranks: see
//                               resizing_file.hpp
//   model.h5                every whole tensor as a virtual dataset, for users' tools
//   config.json             the model, in Hugging Face's format
//   tokenizer.json          if one is known
//   generation_config.json  if the model came from Hugging Face and had one
//   state.json              which part holds what, and what training needs to resume
// The folder is written under a hidden name, synced, and renamed. Then the one-line file `latest` beside it
// names it.
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

// The contents of model.h5, for all saves of a state. It is made once because HDF5 needs time per tensor.
class WholeTensors {
public:
    // Throws ResourceError.
    explicit WholeTensors(const CheckpointState& state);

    // Returns the bytes of model.h5 for the parts of another save of that state, whose name has the same
    // length. Does not use HDF5; may be called by any thread.
    std::string shown_of(const std::string& save) const;

private:
    // The save of the state that bytes_ belongs to.
    std::string save_;
    std::string bytes_;  // contents of model.h5
};

// The files that are written beside tensors.
struct ModelDescription {
    std::string config;           // contents of config.json
    std::string tokenizer = {};   // contents of tokenizer.json; empty if there is none
    std::string generation = {};  // contents of generation_config.json; empty if there is none
};

// Returns the config.json of a model that is stored with these tensors. `base` is the config.json that the
// model began with: see config_json_of().
std::string config_text_of(const model::ModelConfig& model, const std::vector<CheckpointTensor>& tensors,
                           const std::string& base = "");

// Returns a state of `tensors` without parts, with a new save and the checksums of `description`.
CheckpointState state_of(const ModelDescription& description, std::vector<CheckpointTensor> tensors);

// Returns the path of the checkpoint after `step` steps, which need not exist.
std::filesystem::path place_of_checkpoint(const std::filesystem::path& checkpoints, std::uint64_t step);

// Several ranks write one checkpoint. Each writes its part into save_folder(). After all parts are written and
// synced, one rank calls complete(). These functions throw ResourceError if the machine refuses, ConfigError if
// nothing can be written there.
//
// Returns the partial folder of a save and creates it unless another rank has done so. All ranks that pass the
// same save get the same folder.
std::filesystem::path save_folder(const std::filesystem::path& checkpoints, const CheckpointState& state);
// Writes the other files and moves the checkpoint into place. May be called by any thread. `tensors` are of the
// same state, possibly of an earlier save. Returns the checkpoint's path when everything is on disk.
std::filesystem::path complete(const std::filesystem::path& checkpoints, const CheckpointState& state,
                               const WholeTensors& tensors, const ModelDescription& description,
                               const BeforeStage& before = {});
// Removes the oldest checkpoints until `count` are left, but never the one that `latest` names. 0 keeps all.
void keep_newest(const std::filesystem::path& checkpoints, std::size_t count, const BeforeStage& before = {});

// Returns rows of a tensor; they are used before the next call.
using TensorRows = std::function<std::span<const std::byte>(std::size_t tensor, layout::Range rows)>;

// Writes a checkpoint with one part from one process: values without moments. `existing` says whether a
// checkpoint of that step may be replaced. Returns the checkpoint's path; leaves no files if it throws.
std::filesystem::path write_checkpoint(const std::filesystem::path& checkpoints, CheckpointState state,
                                       const ModelDescription& description, const TensorRows& rows,
                                       archive::Existing existing);

}  // namespace trireme::checkpoint
