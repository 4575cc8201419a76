// Model configurations, and the named models that --model accepts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "trireme/base/task.hpp"
#include "trireme/kernels/activation.hpp"

namespace trireme::model {

// Upper bound of every size in a configuration. With this bound, the number of bytes of a (size, size) tensor
// fits into 64 bits.
inline constexpr std::size_t max_model_size = std::size_t{1} << 24;

// Each family has its FamilyTraits in family.hpp.
enum class Family : std::uint8_t { gpt2, llama, bert, vit };

const char* to_string(Family family);                 // for example "gpt2"
const char* to_string(kernels::ActivationKind kind);  // name in a config.json, for example "gelu_new"

// Rotary position embedding (RoPE): each pair of channels of a query or key is rotated by the angle frequency *
// position. The wavelength of a frequency is 2 pi / frequency, in positions. Scaled frequencies let a model
// read longer texts than in its original training.
//   none     frequencies are not scaled
//   linear   all frequencies are divided by `factor`
//   llama3   frequencies with a wavelength above original_positions / low_frequency_factor are divided by
//            `factor`; frequencies with a wavelength below original_positions / high_frequency_factor are not
//            scaled; between the two bounds the frequency is interpolated
struct RotaryConfig {
    enum class Scaling : std::uint8_t { none, linear, llama3 };

    double base = 10000;  // rope_theta in a config.json
    Scaling scaling = Scaling::none;
    double factor = 1;
    double low_frequency_factor = 1;   // low_freq_factor in a config.json
    double high_frequency_factor = 4;  // high_freq_factor in a config.json
    double original_positions = 8192;  // maximum tokens of a text in the original training

    friend bool operator==(const RotaryConfig&, const RotaryConfig&) = default;
};

// Shape of the input images. Images are square and consist of square patches.
struct ImageInput {
    std::size_t channels = 3;
    std::size_t size = 32;  // pixels along an edge
    std::size_t patch = 4;  // pixels along an edge

    std::size_t count_patches() const { return (size / patch) * (size / patch); }
    std::size_t count_patch_values() const { return channels * patch * patch; }  // values of one patch
    friend bool operator==(const ImageInput&, const ImageInput&) = default;
};

struct ModelConfig {
    std::string name = "gpt2";
    Family family = Family::gpt2;
    Task task = Task::language;
    std::size_t layers = 12;  // number of blocks
    std::size_t width = 768;  // hidden size
    std::size_t heads = 12;   // query heads
    std::size_t groups = 0;   // key-value heads, each for a group of query heads (GQA); 0: one per query head
    std::size_t mlp_width = 3072;
    std::size_t positions = 1024;               // maximum tokens of a sample; for vit: class token and patches
    std::size_t vocabulary = 50257;             // 0: the corpus determines the size; unused by vit
    std::size_t token_types = 0;                // number of types; bert only
    std::size_t labels = 0;                     // Task::classify only; 0: the corpus determines the number
    std::vector<std::string> label_names = {};  // one per label, or empty
    ImageInput image = {};                      // vit only
    RotaryConfig rotary = {};                   // llama only
    kernels::ActivationKind activation = kernels::ActivationKind::gelu_tanh;  // unused by llama
    bool tied = true;                // the vocabulary head uses the token table of the embedding as its weight
    double dropout = 0.1;            // probability after the embedding, in residual branches and in the pooler
    double attention_dropout = 0.1;  // probability for attention weights
    double norm_epsilon = 1e-5;
    double init_deviation = 0.02;  // standard deviation of the initial weights

    std::size_t head_size() const { return width / heads; }
    std::size_t key_value_heads() const { return groups == 0 ? heads : groups; }
    bool is_causal() const;
    bool reads_images() const;
    bool has_vocabulary_head() const { return task == Task::language || task == Task::masked; }

    friend bool operator==(const ModelConfig&, const ModelConfig&) = default;
};

// Returns the configuration of a named model, for example of "gpt2-medium". Throws ConfigError for an unknown
// name; the message suggests the most similar known name.
ModelConfig find_named_model(const std::string& name);
std::vector<std::string> list_model_names();

// Returns the tasks for which the family has a head; the default task comes first.
std::vector<Task> list_tasks(Family family);

// Returns one rotary frequency per pair of channels of a head, in radians per position. For c from 0 to head
// size / 2 - 1, frequency c is base^(-2 c / head size), scaled as RotaryConfig::Scaling requires.
std::vector<double> compute_rotary_frequencies(const ModelConfig& config);

// Returns the default name of label `label` in Hugging Face's transformers, for example "LABEL_3".
std::string make_default_label_name(std::size_t label);

// Throws ConfigError if a value is out of range, if sizes contradict each other (such as a width that is not a
// multiple of the number of heads), or if the family has no head for the task. `vocabulary` and `labels` must
// not be 0 if the family and the task use them.
void check_model(const ModelConfig& config);

}  // namespace trireme::model
