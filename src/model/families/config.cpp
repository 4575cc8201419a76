// Checks of model configurations, and rotary frequencies.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "trireme/base/error.hpp"
#include "trireme/model/family.hpp"

namespace trireme::model {
namespace {

void require_size(const char* option, std::size_t value, std::size_t most = max_model_size) {
    if (value == 0) throw ConfigError(cat(option, " is 0; a model needs at least 1"));
    if (value > most) throw ConfigError(cat(option, " ", value, " is beyond ", most));
}

void require_share(const char* option, double value) {
    if (!(value >= 0 && value < 1)) throw ConfigError(cat(option, " ", value, " is outside [0, 1)"));
}

void require_positive(const char* quantity, double value) {
    if (!std::isfinite(value) || value <= 0) {
        throw ConfigError(cat(quantity, " is ", value, "; it must be a number above 0"));
    }
}

void check_task(const ModelConfig& config) {
    const std::vector<Task> tasks = tasks_of(config.family);
    if (std::find(tasks.begin(), tasks.end(), config.task) != tasks.end()) return;
    std::string known;
    for (const Task task : tasks) known += cat(known.empty() ? "" : ", ", name_of(task));
    throw ConfigError(cat("a ", name_of(config.family), " model has no head for the task ",
                          name_of(config.task), "; it has heads for: ", known, "; choose another --model"));
}

void check_heads(const ModelConfig& config) {
    require_size("--heads", config.heads);
    if (config.width % config.heads != 0) {
        throw ConfigError(cat("--width ", config.width, " is not a multiple of --heads ", config.heads,
                              "; every head needs the same number of channels"));
    }
    const std::size_t groups = config.key_groups();
    if (config.heads % groups != 0) {
        throw ConfigError(cat("--heads ", config.heads, " is not a multiple of --groups ", groups,
                              "; every group needs the same number of heads"));
    }
    if (groups != config.heads && !traits_of(config.family).shares_keys) {
        throw ConfigError(cat("--groups ", groups, " does not fit a ", name_of(config.family), " model with ",
                              config.heads, " heads: heads of this family do not share keys; leave it out"));
    }
}

void check_rotary(const ModelConfig& config) {
    const RotaryConfig& rotary = config.rotary;
    if (config.head_size() % 2 != 0) {
        throw ConfigError(cat("--width ", config.width, " over --heads ", config.heads, " makes heads of ",
                              config.head_size(), " channels; rotary positions turn pairs of channels"));
    }
    require_positive("the base of the rotary positions", rotary.base);
    require_positive("the factor of the rotary positions", rotary.factor);
    if (rotary.stretch != RotaryConfig::Stretch::llama3) return;
    require_positive("the low frequency factor of the rotary positions", rotary.low_frequency);
    require_positive("the number of original rotary positions", rotary.original_positions);
    if (!std::isfinite(rotary.high_frequency) || rotary.high_frequency <= rotary.low_frequency) {
        throw ConfigError(cat("the high frequency factor ", rotary.high_frequency,
                              " of the rotary positions is not above the low one, ", rotary.low_frequency));
    }
}

void check_image(const ModelConfig& config) {
    constexpr std::size_t most_of_an_edge = std::size_t{1} << 14;
    const ImageInput& image = config.image;
    require_size("--image-size", image.size, most_of_an_edge);
    require_size("--patch", image.patch, most_of_an_edge);
    require_size("--channels", image.channels, std::size_t{1} << 12);
    if (image.size % image.patch != 0) {
        throw ConfigError(cat("--image-size ", image.size, " is not a multiple of --patch ", image.patch,
                              "; an image is cut into whole patches"));
    }
    if (image.patch_values() > max_model_size) {
        throw ConfigError(cat("--patch ", image.patch, " makes patches of ", image.patch_values(),
                              " values, which is beyond ", max_model_size));
    }
    if (config.positions != image.patches() + 1) {
        throw ConfigError(cat("--positions ", config.positions, " is not ", image.patches() + 1,
                              ": the class token and the ", image.patches(), " patches of --image-size ",
                              image.size, " and --patch ", image.patch));
    }
}

// The question and the context of a span task have different token types.
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
                              " labels, and --labels is ", config.labels, "; every label needs one, or none"));
    }
}

// Training hardly covers a full period of a long wave, so only long waves are slowed.
// (Dubey et al., The Llama 3 herd of models, 2024)
double stretched_by_wave(double frequency, const RotaryConfig& rotary) {
    const double waves = rotary.original_positions * frequency / (2 * std::numbers::pi);
    if (waves < rotary.low_frequency) return frequency / rotary.factor;
    if (waves > rotary.high_frequency) return frequency;
    const double kept = (waves - rotary.low_frequency) / (rotary.high_frequency - rotary.low_frequency);
    return (1 - kept) * frequency / rotary.factor + kept * frequency;
}

double stretched(double frequency, const RotaryConfig& rotary) {
    switch (rotary.stretch) {
        case RotaryConfig::Stretch::none:
            return frequency;
        case RotaryConfig::Stretch::linear:
            return frequency / rotary.factor;
        case RotaryConfig::Stretch::llama3:
            return stretched_by_wave(frequency, rotary);
    }
    throw BugError("unknown stretch of rotary positions");
}

}  // namespace

std::vector<double> rotary_frequencies(const ModelConfig& config) {
    const std::size_t channels = config.head_size();
    std::vector<double> frequencies;
    for (std::size_t channel = 0; channel + 1 < channels; channel += 2) {
        const double power = static_cast<double>(channel) / static_cast<double>(channels);
        frequencies.push_back(stretched(1 / std::pow(config.rotary.base, power), config.rotary));
    }
    return frequencies;
}

std::string unnamed_label(std::size_t label) { return cat("LABEL_", label); }

void check_model(const ModelConfig& config) {
    check_task(config);
    require_size("--layers", config.layers, std::size_t{1} << 16);
    require_size("--width", config.width);
    check_heads(config);
    require_size("--mlp-width", config.mlp_width);
    require_size("--positions", config.positions);
    if (!config.reads_images()) require_size("--vocabulary", config.vocabulary);
    if (config.task == Task::classify) check_labels(config);
    const FamilyTraits& family = traits_of(config.family);
    if (family.has_rotary_positions) check_rotary(config);
    if (!family.token_type_table.empty()) check_token_types(config);
    if (family.reads_images) check_image(config);
    require_share("--dropout", config.dropout);
    require_share("--attention-dropout", config.attention_dropout);
    require_positive("the epsilon of the norms", config.norm_epsilon);
    require_positive("the standard deviation of the first weights", config.init_deviation);
}

}  // namespace trireme::model
