// Checks model configurations and computes rotary frequencies.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "trireme/base/error.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {
namespace {

void require_size(const char* option, std::size_t value, std::size_t max_value = max_model_size) {
    if (value == 0) throw ConfigError(cat(option, " is 0; a model needs at least 1"));
    if (value > max_value) throw ConfigError(cat(option, " ", value, " is beyond the limit of ", max_value));
}

void require_fraction(const char* option, double value) {
    if (!(value >= 0 && value < 1)) throw ConfigError(cat(option, " ", value, " is outside [0, 1)"));
}

void require_positive(const char* quantity, double value) {
    if (!std::isfinite(value) || value <= 0) {
        throw ConfigError(cat(quantity, " is ", value, "; it must be a number above 0"));
    }
}

void check_task(const ModelConfig& config) {
    const std::vector<Task> tasks = list_tasks(config.family);
    if (std::find(tasks.begin(), tasks.end(), config.task) != tasks.end()) return;
    std::string known_tasks;
    for (const Task task : tasks) known_tasks += cat(known_tasks.empty() ? "" : ", ", to_string(task));
    throw ConfigError(cat("a ", to_string(config.family), " model has no head for the task ",
                          to_string(config.task), "; it has heads for: ", known_tasks,
                          "; choose another --model"));
}

void check_heads(const ModelConfig& config) {
    require_size("--heads", config.heads);
    if (config.width % config.heads != 0) {
        throw ConfigError(cat("--width ", config.width, " is not a multiple of --heads ", config.heads,
                              "; every head needs the same number of channels"));
    }
    const std::size_t groups = config.key_value_heads();
    if (config.heads % groups != 0) {
        throw ConfigError(cat("--heads ", config.heads, " is not a multiple of --groups ", groups,
                              "; every group needs the same number of heads"));
    }
    if (groups != config.heads && !find_traits(config.family).may_share_keys) {
        throw ConfigError(cat("--groups ", groups, " does not fit a ", to_string(config.family), " model with ",
                              config.heads, " heads: heads of this family do not share keys; remove --groups"));
    }
}

void check_rotary(const ModelConfig& config) {
    const RotaryConfig& rotary = config.rotary;
    if (config.head_size() % 2 != 0) {
        throw ConfigError(cat("--width ", config.width, " over --heads ", config.heads, " makes heads of ",
                              config.head_size(), " channels; rotary positions need an even number"));
    }
    require_positive("the base of the rotary positions", rotary.base);
    require_positive("the factor of the rotary positions", rotary.factor);
    if (rotary.scaling != RotaryConfig::Scaling::llama3) return;
    require_positive("the low frequency factor of the rotary positions", rotary.low_frequency_factor);
    require_positive("the number of original rotary positions", rotary.original_positions);
    if (!std::isfinite(rotary.high_frequency_factor) ||
        rotary.high_frequency_factor <= rotary.low_frequency_factor) {
        throw ConfigError(cat("the high frequency factor ", rotary.high_frequency_factor,
                              " of the rotary positions is not above the low frequency factor, ",
                              rotary.low_frequency_factor));
    }
}

void check_image(const ModelConfig& config) {
    constexpr std::size_t max_edge_pixels = std::size_t{1} << 14;
    const ImageInput& image = config.image;
    require_size("--image-size", image.size, max_edge_pixels);
    require_size("--patch", image.patch, max_edge_pixels);
    require_size("--channels", image.channels, std::size_t{1} << 12);
    if (image.size % image.patch != 0) {
        throw ConfigError(cat("--image-size ", image.size, " is not a multiple of --patch ", image.patch,
                              "; an image must consist of whole patches"));
    }
    if (image.count_patch_values() > max_model_size) {
        throw ConfigError(cat("--patch ", image.patch, " makes patches of ", image.count_patch_values(),
                              " values; the limit is ", max_model_size));
    }
    if (config.positions != image.count_patches() + 1) {
        throw ConfigError(cat("--positions ", config.positions, " must be ", image.count_patches() + 1,
                              ", for the class token and the ", image.count_patches(),
                              " patches of --image-size ", image.size, " and --patch ", image.patch));
    }
}

// Task::span needs two token types: one for the tokens of the question, one for those of the context.
void check_token_types(const ModelConfig& config) {
    require_size("the number of token types", config.token_types);
    if (config.task == Task::span && config.token_types < 2) {
        throw ConfigError("the model has 1 token type; to find answers in a context it needs 2");
    }
}

void check_labels(const ModelConfig& config) {
    require_size("--labels", config.labels);
    if (!config.label_names.empty() && config.label_names.size() != config.labels) {
        throw ConfigError(cat("the model has names for ", config.label_names.size(),
                              " labels, but --labels is ", config.labels, "; name every label or none"));
    }
}

// Returns the frequency as RotaryConfig::Scaling::llama3 requires: only frequencies with long wavelengths are
// scaled. (Dubey et al., The Llama 3 herd of models, 2024)
double scale_by_wavelength(double frequency, const RotaryConfig& rotary) {
    // Number of wavelengths in a text of `original_positions` tokens.
    const double wavelengths = rotary.original_positions * frequency / (2 * std::numbers::pi);
    if (wavelengths < rotary.low_frequency_factor) return frequency / rotary.factor;
    if (wavelengths > rotary.high_frequency_factor) return frequency;
    const double unscaled_fraction = (wavelengths - rotary.low_frequency_factor) /
                                     (rotary.high_frequency_factor - rotary.low_frequency_factor);
    return (1 - unscaled_fraction) * frequency / rotary.factor + unscaled_fraction * frequency;
}

double scale_frequency(double frequency, const RotaryConfig& rotary) {
    switch (rotary.scaling) {
        case RotaryConfig::Scaling::none:
            return frequency;
        case RotaryConfig::Scaling::linear:
            return frequency / rotary.factor;
        case RotaryConfig::Scaling::llama3:
            return scale_by_wavelength(frequency, rotary);
    }
    throw BugError("unknown scaling of rotary positions");
}

}  // namespace

std::vector<double> compute_rotary_frequencies(const ModelConfig& config) {
    const std::size_t head_size = config.head_size();
    std::vector<double> frequencies;
    for (std::size_t channel = 0; channel + 1 < head_size; channel += 2) {
        const double exponent = static_cast<double>(channel) / static_cast<double>(head_size);
        frequencies.push_back(scale_frequency(1 / std::pow(config.rotary.base, exponent), config.rotary));
    }
    return frequencies;
}

std::string make_default_label_name(std::size_t label) { return cat("LABEL_", label); }

void check_model(const ModelConfig& config) {
    check_task(config);
    require_size("--layers", config.layers, std::size_t{1} << 16);
    require_size("--width", config.width);
    check_heads(config);
    require_size("--mlp-width", config.mlp_width);
    require_size("--positions", config.positions);
    if (!config.reads_images()) require_size("--vocabulary", config.vocabulary);
    if (config.task == Task::classify) check_labels(config);
    const FamilyTraits& family = find_traits(config.family);
    if (family.has_rotary_positions) check_rotary(config);
    if (!family.token_type_table.empty()) check_token_types(config);
    if (family.reads_images) check_image(config);
    require_fraction("--dropout", config.dropout);
    require_fraction("--attention-dropout", config.attention_dropout);
    require_positive("the epsilon of the norms", config.norm_epsilon);
    require_positive("the standard deviation of the initial weights", config.init_deviation);
}

}  // namespace trireme::model
