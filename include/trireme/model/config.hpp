// What a model is made of, and the models known by name.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/base/task.hpp"
#include "trireme/kernels/activation.hpp"

namespace trireme::model {

// Sizes are at most this, so that the bytes of the product of two of them fit into 64 bits.
inline constexpr std::size_t max_model_size = std::size_t{1} << 24;

// The rows of family.hpp.
enum class Family : std::uint8_t { gpt2, llama, bert, vit };

const char* name_of(Family family);                 // "gpt2"
const char* name_of(kernels::ActivationKind kind);  // "gelu_new", as Hugging Face has it

// How positions become angles. A stretched model reads texts longer than those it was first trained on:
//   linear   all frequencies are divided by `factor`
//   llama3   those whose wave is longer than original_positions / low_frequency are; those of waves shorter
//            than original_positions / high_frequency stay, and between the two it changes smoothly
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

// Square images, cut into square patches.
struct ImageInput {
    std::size_t channels = 3;
    std::size_t size = 32;  // pixels along an edge
    std::size_t patch = 4;  // likewise

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
    std::size_t groups = 0;  // of heads that share one key and value; 0: every head has its own
    std::size_t mlp_width = 3072;
    std::size_t positions = 1024;               // of a vit: the class token and the patches
    std::size_t vocabulary = 50257;             // 0: the corpus decides; a vit has none
    std::size_t token_types = 0;                // of bert
    std::size_t labels = 0;                     // of Task::classify; 0: the corpus decides
    std::vector<std::string> label_names = {};  // as many as labels, or none
    ImageInput image = {};                      // of vit
    RotaryConfig rotary = {};                   // of llama
    kernels::ActivationKind activation = kernels::ActivationKind::gelu_tanh;  // not of llama
    bool tied = true;  // the head of a vocabulary shares the token table
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

// Throws ConfigError for an unknown name, naming the nearest known one.
ModelConfig model_named(const std::string& name);
std::vector<std::string> known_models();

// Tasks that the family has a head for; the first is its own.
std::vector<Task> tasks_of(Family family);

// The frequency of each pair of channels of a head (head size / 2), in radians per position.
std::vector<double> rotary_frequencies(const ModelConfig& config);

// What stands for a name where the model has none: "LABEL_3", as transformers has it.
std::string unnamed_label(std::size_t label);

// Throws ConfigError for sizes that contradict each other, such as heads that do not divide the width, and for
// a task that the family has no head for.
void check_model(const ModelConfig& config);

}  // namespace trireme::model
