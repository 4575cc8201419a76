// Writing checkpoints (README, *Files*): a folder step-N with
//   part-<save>-<rank>.h5   boxes of tensors and their moments, of one rank each
//   resizing-<save>-<rank>.h5   what a rank remembers that may leave out products, if some may: see
//                               resizing_file.hpp
//   model.h5                every tensor whole, by virtual datasets, for people
//   config.json             the model, as Hugging Face has it
//   tokenizer.json          if one is known
//   generation_config.json  of a model of Hugging Face's that had one
//   state.json              what is in which part, and what training has to know to go on
// written under a hidden name, synced, renamed into place; then the one-line file `latest` beside it names it.
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

// What the saves of a state have in common: made once, as HDF5 takes its time over each tensor.
class WholeTensors {
public:
    // Throws ResourceError.
    explicit WholeTensors(const CheckpointState& state);

    // All bytes of model.h5 beside the parts of a save of that state, which has as many digits. HDF5 is not
    // needed; any thread may ask.
    std::string shown_of(const std::string& save) const;

private:
    std::string save_;
    std::string bytes_;  // of model.h5 of that save
};

// What is written beside tensors.
struct ModelDescription {
    std::string config;           // the bytes of config.json
    std::string tokenizer = {};   // of tokenizer.json; empty: none
    std::string generation = {};  // of generation_config.json; empty: none
};

// The config.json of a model that is stored with these tensors; `base` is one that it began with: see
// config_json_of().
std::string config_text_of(const model::ModelConfig& model, const std::vector<CheckpointTensor>& tensors,
                           const std::string& base = "");

// A state of `tensors`, with what says which description they have; without parts.
CheckpointState state_of(const ModelDescription& description, std::vector<CheckpointTensor> tensors);

// Where the checkpoint behind `step` steps is, or will be.
std::filesystem::path place_of_checkpoint(const std::filesystem::path& checkpoints, std::uint64_t step);

// Several ranks write one checkpoint: each a part, into save_folder(), and, once these are written and synced,
// one of them the rest. Throw ResourceError where the machine refuses, ConfigError where nothing can be written
// there.
//
// The same for all who give the same: made by the first of them.
std::filesystem::path save_folder(const std::filesystem::path& checkpoints, const CheckpointState& state);
// The rest; any thread may do it. `tensors` are of the state, perhaps of an earlier save. The checkpoint's
// path, once it is whole and safe.
std::filesystem::path complete(const std::filesystem::path& checkpoints, const CheckpointState& state,
                               const WholeTensors& tensors, const ModelDescription& description,
                               const BeforeStage& before = {});
// Removes the oldest until `count` are left; never the one that `latest` names. 0: keeps all.
void keep_newest(const std::filesystem::path& checkpoints, std::size_t count, const BeforeStage& before = {});

// Rows of a tensor, which are read at once.
using TensorRows = std::function<std::span<const std::byte>(std::size_t tensor, layout::Range rows)>;

// One process writes all as one part: values without moments. `existing` is what becomes of a checkpoint of
// that step. Returns the checkpoint's path; leaves nothing behind where it throws.
std::filesystem::path write_checkpoint(const std::filesystem::path& checkpoints, CheckpointState state,
                                       const ModelDescription& description, const TensorRows& rows,
                                       archive::Existing existing);

}  // namespace trireme::checkpoint
