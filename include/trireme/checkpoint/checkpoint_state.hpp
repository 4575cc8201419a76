// The contents of a checkpoint's state.json: its tensors and the parts that hold them. Every part records the
// SHA-256 of state.json, so that files of different saves cannot be mixed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/archive/safetensors.hpp"
#include "trireme/layout/held_state.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::checkpoint {

// What a checkpoint stores per element of a parameter. The velocity of SGD is stored as moment1.
enum class StateField : std::uint8_t { value, moment1, moment2 };

inline constexpr std::size_t most_moments = 2;

// Returns the field of a number: 0 is the value, 1 and 2 are the moments.
constexpr StateField state_field(std::size_t number) { return static_cast<StateField>(number); }
// Returns the name of the field's group in a part: "parameters", "moment1" or "moment2".
const char* name_of(StateField field);

struct CheckpointTensor {
    std::string name;
    std::vector<std::uint64_t> shape;  // in Hugging Face's order of axes
    std::size_t rows = 1;              // of the tensor as a matrix, as kernels see it
    std::size_t columns = 0;
    archive::StoredType type = archive::StoredType::f32;  // f32 or f64
    // Type before the tensor was stored in a checkpoint; it is restored by a conversion to Hugging Face's
    // format.
    archive::StoredType source = archive::StoredType::f32;
};

CheckpointTensor checkpoint_tensor(const model::ParameterSpec& whole, archive::StoredType type,
                                   archive::StoredType source);

// One file, written by one rank.
struct CheckpointPart {
    std::uint64_t number = 0;                   // the number of the rank
    std::vector<layout::TensorBox> boxes = {};  // each element of a tensor is in exactly one part
};

struct CheckpointState {
    std::string save;  // random digits that identify the save
    std::uint64_t step = 0;
    std::size_t moments = 0;  // moments per element
    std::vector<CheckpointTensor> tensors = {};
    std::vector<CheckpointPart> parts = {};
    std::string config_sha256 = {};
    std::string tokenizer_sha256 = {};   // empty if there is no tokenizer.json
    std::string generation_sha256 = {};  // of generation_config.json; empty if there is none
    std::string run = {};                // JSON object with the training loop's own state; empty if none
};

// Returns one line of JSON.
std::string json_of(const CheckpointState& state);
// Throws ConfigError, which begins with `place`, for anything else and if the parts do not make up the tensors.
CheckpointState state_from_json(std::string_view text, const std::string& place);
// Reads the state.json of a folder step-N and none of its other files. Throws ConfigError.
CheckpointState read_checkpoint_state(const std::filesystem::path& folder);

}  // namespace trireme::checkpoint
