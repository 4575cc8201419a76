// Small models whose parts can be counted by hand.
#pragma once

#include <vector>

#include "trireme/model/model.hpp"

namespace trireme::validation {

// 8 heads of 2 channels, 24 MLP columns, 19 tokens; a llama's heads in 4 groups.
inline ModelConfig sharable(Family family, Task task, bool tied = true) {
    ModelConfig config{.name = name_of(family),
                       .family = family,
                       .task = task,
                       .layers = 2,
                       .width = 16,
                       .heads = 8,
                       .mlp_width = 24,
                       .positions = 10,
                       .vocabulary = 19,
                       .labels = 3,
                       .image = {},
                       .rotary = {},
                       .tied = tied};
    if (family == Family::llama) config.groups = 4;
    if (family == Family::bert) config.token_types = 2;
    if (family == Family::vit) {
        config.image = {.channels = 2, .size = 4, .patch = 2};
        config.positions = 5;
        config.vocabulary = 0;
    }
    return config;
}

inline std::vector<ModelConfig> every_sharable() {
    return {sharable(Family::gpt2, Task::language),  sharable(Family::gpt2, Task::language, false),
            sharable(Family::llama, Task::language), sharable(Family::llama, Task::language, false),
            sharable(Family::bert, Task::masked),    sharable(Family::bert, Task::masked, false),
            sharable(Family::bert, Task::span),      sharable(Family::bert, Task::classify),
            sharable(Family::vit, Task::classify)};
}

// A rank's part of every tensor once.
inline std::vector<ParameterSpec> specs_of(const ModelConfig& config, const TensorPart& part = {}) {
    return unique_parameters(build_layers(config, part));
}

}  // namespace trireme::validation
