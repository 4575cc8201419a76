#include "trireme/model/config.hpp"

#include <algorithm>
#include <array>

#include "trireme/base/error.hpp"
#include "trireme/base/nearest.hpp"

namespace trireme {
namespace {

ModelConfig gpt2(const char* name, std::size_t layers, std::size_t width, std::size_t heads) {
    return {.name = name, .layers = layers, .width = width, .heads = heads, .mlp_width = 4 * width};
}

// Hugging Face's sizes, and a small one for first steps, whose vocabulary is the corpus's.
std::vector<ModelConfig> all_models() {
    ModelConfig tiny = gpt2("gpt2-tiny", 4, 128, 8);
    tiny.positions = 256;
    tiny.vocabulary = 0;
    tiny.dropout = 0;
    return {tiny, gpt2("gpt2", 12, 768, 12), gpt2("gpt2-medium", 24, 1024, 16),
            gpt2("gpt2-large", 36, 1280, 20), gpt2("gpt2-xl", 48, 1600, 25)};
}

std::string joined(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

// Products of two sizes and a few bytes stay countable.
constexpr std::size_t most_of_a_size = std::size_t{1} << 24;

void require_size(const char* option, std::size_t value, std::size_t most = most_of_a_size) {
    if (value == 0) throw ConfigError(cat(option, " is 0; a model needs at least 1"));
    if (value > most) throw ConfigError(cat(option, " ", value, " is beyond ", most));
}

}  // namespace

std::vector<std::string> known_models() {
    std::vector<std::string> names;
    for (const ModelConfig& model : all_models()) names.push_back(model.name);
    return names;
}

ModelConfig model_named(const std::string& name) {
    const std::vector<ModelConfig> models = all_models();
    const auto found =
        std::find_if(models.begin(), models.end(), [&](const auto& m) { return m.name == name; });
    if (found != models.end()) return *found;
    const std::vector<std::string> known = known_models();
    throw ConfigError(
        cat("--model ", name, " is not known", did_you_mean(name, known), "; known are ", joined(known)));
}

void check_model(const ModelConfig& config) {
    require_size("--layers", config.layers, std::size_t{1} << 16);
    require_size("--width", config.width);
    require_size("--heads", config.heads);
    require_size("--mlp-width", config.mlp_width);
    require_size("--positions", config.positions);
    require_size("--vocabulary", config.vocabulary);
    if (config.width % config.heads != 0) {
        throw ConfigError(cat("--width ", config.width, " is not a multiple of --heads ", config.heads,
                              "; every head needs the same number of channels"));
    }
    if (config.dropout < 0 || config.dropout >= 1) {
        throw ConfigError(cat("--dropout ", config.dropout, " is outside [0, 1)"));
    }
}

}  // namespace trireme
