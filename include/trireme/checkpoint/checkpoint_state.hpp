// What a checkpoint holds, and where: its state.json. Every part knows the SHA-256 of it, so that files of two
// saves are never taken for one.
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

// What is kept of each element of a parameter. Of sgd the velocity is moment1.
enum class StateField : std::uint8_t { value, moment1, moment2 };

inline constexpr std::size_t most_moments = 2;

// 0 is the value, others are the moments from 1 on.
constexpr StateField state_field(std::size_t number) { return static_cast<StateField>(number); }
const char* name_of(StateField field);  // "parameters", "moment1": a group of a part

struct CheckpointTensor {
    std::string name;
    std::vector<std::uint64_t> shape;  // Hugging Face's
    std::size_t rows = 1;              // as kernels see it
    std::size_t columns = 0;
    archive::StoredType type = archive::StoredType::f32;  // f32 or f64
    archive::StoredType source =
        archive::StoredType::f32;  // what it was before, and becomes when it is converted
};

CheckpointTensor checkpoint_tensor(const model::ParameterSpec& whole, archive::StoredType type,
                                   archive::StoredType source);

// One file, written by one rank.
struct CheckpointPart {
    std::uint64_t number = 0;                   // the rank's
    std::vector<layout::TensorBox> boxes = {};  // of the tensors: each element of a tensor is in one part
};

struct CheckpointState {
    std::string save;  // digits that no other save has
    std::uint64_t step = 0;
    std::size_t moments = 0;  // of each element
    std::vector<CheckpointTensor> tensors = {};
    std::vector<CheckpointPart> parts = {};
    std::string config_sha256 = {};
    std::string tokenizer_sha256 = {};   // empty: it has none
    std::string generation_sha256 = {};  // of generation_config.json; empty: it has none
    std::string run = {};                // what training has to say to itself, as a JSON object; empty: nothing
};

// A line of JSON.
std::string json_of(const CheckpointState& state);
// Throws ConfigError, which begins with `place`, for anything else, and where parts do not make up the tensors.
CheckpointState state_from_json(std::string_view text, const std::string& place);
// The state of a checkpoint, a folder step-N, without looking at its other files. Throws ConfigError.
CheckpointState read_checkpoint_state(const std::filesystem::path& folder);

}  // namespace trireme::checkpoint
