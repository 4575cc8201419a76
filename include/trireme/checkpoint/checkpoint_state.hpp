// The contents of a checkpoint's state.json: the tensors of the checkpoint, and the boxes of these tensors in
// each part. A part is the HDF5 file of one rank. Every part records the SHA-256 of state.json, so that files
// of different saves cannot be mixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/archive/safetensors.hpp"
#include "trireme/layout/held_state.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::checkpoint {

// The values that a checkpoint stores per element of a parameter. The velocity of SGD is stored as moment1.
enum class StateField : std::uint8_t { value, moment1, moment2 };

inline constexpr std::size_t max_moments = 2;

// Returns the field with the given number: 0 is the value, 1 and 2 are the moments.
constexpr StateField to_state_field(std::size_t number) { return static_cast<StateField>(number); }
// Returns the name of the field's group in a part: "parameters", "moment1" or "moment2".
const char* to_string(StateField field);

struct CheckpointTensor {
    std::string name;
    std::vector<std::uint64_t> shape;  // in Hugging Face's order of axes
    std::size_t rows = 1;              // rows and columns of the tensor as a matrix: see ParameterSpec
    std::size_t columns = 0;
    archive::StoredType type = archive::StoredType::f32;  // type in the checkpoint: f32 or f64
    // Type in the model file from which the run started; equals `type` if there was no such file. An export to
    // Hugging Face's format converts to this type.
    archive::StoredType original_type = archive::StoredType::f32;
    bool has_moments = true;  // false for a frozen tensor
};

// True if a checkpoint stores this field of the tensor.
inline bool has_field(const CheckpointTensor& tensor, StateField field) {
    return field == StateField::value || tensor.has_moments;
}

// Number of optimizer updates that the moments of a tensor contain, by the name of the tensor.
using UpdateCounts = std::map<std::string, std::uint64_t>;

// `whole` describes the whole tensor, not the slice of a rank.
CheckpointTensor make_checkpoint_tensor(const model::ParameterSpec& whole, archive::StoredType type,
                                        archive::StoredType original_type);

// One HDF5 file, written by one rank.
struct CheckpointPart {
    std::uint64_t rank = 0;
    std::vector<layout::TensorBox> boxes = {};  // each element of a tensor is in exactly one box of all parts
};

struct CheckpointState {
    std::string save_id;  // random digits that identify the save
    std::uint64_t step = 0;
    std::size_t moments = 0;  // moments per element of a tensor that has moments: 0 to 2
    std::vector<CheckpointTensor> tensors = {};
    std::vector<CheckpointPart> parts = {};
    std::string config_sha256 = {};
    std::string tokenizer_sha256 = {};   // empty if there is no tokenizer.json
    std::string generation_sha256 = {};  // SHA-256 of generation_config.json; empty if there is none
    std::string run = {};  // JSON object with the state of the training loop; empty if there is none
};

// Returns the indices of the tensors with moments that have elements in a part, ascending.
std::vector<std::size_t> list_tensors_with_moments(const CheckpointState& state, const CheckpointPart& part);

// Returns one line of JSON.
std::string to_json(const CheckpointState& state);
// Parses a line of to_json(). Throws ConfigError, whose message begins with `source`, in two cases: `text` is
// not such a line, or the boxes of all parts together do not have the number of elements of each tensor.
CheckpointState parse_checkpoint_state(std::string_view text, const std::string& source);
// Reads the state.json of a folder step-N, and no other file. Throws ConfigError.
CheckpointState read_checkpoint_state(const std::filesystem::path& folder);

}  // namespace trireme::checkpoint
