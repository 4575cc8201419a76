// Model configurations, and the models that are known by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/base/task.hpp"
#include "trireme/kernels/activation.hpp"

namespace trireme::model {

// Upper bound of every size, so that the byte count of a tensor with two such dimensions fits into 64 bits.
inline constexpr std::size_t max_model_size = std::size_t{1} << 24;

// Each family has its FamilyTraits in family.hpp.
enum class Family : std::uint8_t { gpt2, llama, bert, vit };

const char* name_of(Family family);                 // "gpt2"
const char* name_of(kernels::ActivationKind kind);  // "gelu_new", the name in Hugging Face

// Rotary position embedding. A stretched model reads texts longer than those it was first trained on:
//   linear   all frequencies are divided by `factor`
//   llama3   frequencies with a wavelength above original_positions / low_frequency are divided by `factor`;
//            those with a wavelength below original_positions / high_frequency stay; between the two bounds
//            the divisor changes smoothly
struct RotaryConfig {
    enum class Stretch : std::uint8_t { none, linear, llama3 };

    double base = 10000;
    Stretch stretch = Stretch::none;
    double factor = 1;
    double low_frequency = 1;
    double high_frequency = 4;
    double original_positions = 8192;

    friend bool operator==(const RotaryConfig&, const RotaryConfig&) = default;
};

// Size of the square images and of their square patches.
struct ImageInput {
    std::size_t channels = 3;
    std::size_t size = 32;  // pixels along an edge
    std::size_t patch = 4;  // pixels along an edge

    std::size_t patches() const { return (size / patch) * (size / patch); }
    std::size_t patch_values() const { return channels * patch * patch; }
    friend bool operator==(const ImageInput&, const ImageInput&) = default;
};

struct ModelConfig {
    std::string name = "gpt2";
    Family family = Family::gpt2;
    Task task = Task::language;
    std::size_t layers = 12;
    std::size_t width = 768;
    std::size_t heads = 12;
    std::size_t groups = 0;  // groups of heads that share key and value; 0: every head has its own
    std::size_t mlp_width = 3072;
    std::size_t positions = 1024;               // for vit: the class token and the patches
    std::size_t vocabulary = 50257;             // 0: the corpus decides; unused by vit
    std::size_t token_types = 0;                // bert only
    std::size_t labels = 0;                     // Task::classify only; 0: the corpus decides
    std::vector<std::string> label_names = {};  // one per label, or empty
    ImageInput image = {};                      // vit only
    RotaryConfig rotary = {};                   // llama only
    kernels::ActivationKind activation = kernels::ActivationKind::gelu_tanh;  // unused by llama
    bool tied = true;  // the vocabulary head shares the token table
    double dropout = 0.1;
    double attention_dropout = 0.1;
    double norm_epsilon = 1e-5;
    double init_deviation = 0.02;

    std::size_t head_size() const { return width / heads; }
    std::size_t key_groups() const { return groups == 0 ? heads : groups; }
    bool is_causal() const;
    bool reads_images() const;
    bool has_vocabulary_head() const { return task == Task::language || task == Task::masked; }

    friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

// Throws ConfigError for an unknown name; the message suggests the nearest known one.
ModelConfig model_named(const std::string& name);
std::vector<std::string> known_models();

// Returns the tasks for which the family has a head; the default task comes first.
std::vector<Task> tasks_of(Family family);

// Returns the frequency of each pair of channels of a head (head size / 2), in radians per position.
std::vector<double> rotary_frequencies(const ModelConfig& config);

// Returns the default name of a label, as in transformers: "LABEL_3".
std::string unnamed_label(std::size_t label);

// Throws ConfigError for sizes that are out of range or contradict each other, such as heads that do not divide
// the width, and for a task without a head in this family.
void check_model(const ModelConfig& config);

}  // namespace trireme::model
