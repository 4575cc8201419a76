// The sizes of a model, and the models known by name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace trireme {

// A GPT-2: token and position tables, `layers` blocks of attention and MLP, a final norm, a head.
// (Radford et al., 2019)
struct ModelConfig {
    std::string name = "gpt2";
    std::size_t layers = 12;
    std::size_t width = 768;
    std::size_t heads = 12;
    std::size_t mlp_width = 3072;
    std::size_t positions = 1024;
    std::size_t vocabulary = 50257;  // 0: the corpus decides
    bool tied = true;                // the head shares the token table
    double dropout = 0.1;
    double norm_epsilon = 1e-5;
    double init_deviation = 0.02;

    std::size_t head_size() const { return width / heads; }
};

// Throws ConfigError for an unknown name, naming the nearest known one.
ModelConfig model_named(const std::string& name);
std::vector<std::string> known_models();

// Throws ConfigError for sizes that contradict each other, such as heads that do not divide the width.
void check_model(const ModelConfig& config);

}  // namespace trireme
