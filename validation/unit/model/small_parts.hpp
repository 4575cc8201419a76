// Small models whose elements per rank can be counted by hand.
#pragma once

#include <vector>

#include "trireme/model/model.hpp"

namespace trireme::validation {

// Returns a model with two blocks, 8 heads of 2 channels, 24 MLP columns and a vocabulary of 19 tokens. A llama
// has 4 groups of heads; a vit reads images instead of tokens.
inline model::ModelConfig sharable(model::Family family, Task task, bool tied = true) {
    model::ModelConfig config{.name = to_string(family),
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
    if (family == model::Family::llama) config.groups = 4;
    if (family == model::Family::bert) config.token_types = 2;
    if (family == model::Family::vit) {
        config.image = {.channels = 2, .size = 4, .patch = 2};
        config.positions = 5;
        config.vocabulary = 0;
    }
    return config;
}

// Returns one model per family and task. Models of language and masked tokens come with a tied and a separate
// head.
inline std::vector<model::ModelConfig> make_small_models() {
    return {
        sharable(model::Family::gpt2, Task::language),  sharable(model::Family::gpt2, Task::language, false),
        sharable(model::Family::llama, Task::language), sharable(model::Family::llama, Task::language, false),
        sharable(model::Family::bert, Task::masked),    sharable(model::Family::bert, Task::masked, false),
        sharable(model::Family::bert, Task::span),      sharable(model::Family::bert, Task::classify),
        sharable(model::Family::vit, Task::classify)};
}

// Returns the specs of a rank's parts of all tensors. A tied table appears once.
inline std::vector<model::ParameterSpec> specs_of(const model::ModelConfig& config,
                                                  const model::TensorPart& part = {}) {
    return model::list_unique_parameters(model::build_layers(config, part));
}

}  // namespace trireme::validation
