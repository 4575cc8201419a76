// The words of Hugging Face's config.json: classes of models, activations, and settings by family.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/families/config_fields.hpp"
#include "trireme/model/config.hpp"

namespace trireme {

// The words of Hugging Face's config.json: classes of models, and activations.
struct Architecture {
    const char* name;  // "BertForMaskedLM"
    Family family;
    Task task;
    bool has_head;  // of the task; without one it is the base that all tasks share
};

const Architecture* architecture_named(std::string_view name);  // nullptr: not one of ours
const char* architecture_of(Family family, Task task);          // with the head
std::string known_architectures();                              // joined with commas

std::optional<Family> family_named(std::string_view model_type);

std::optional<ActivationKind> activation_named(std::string_view name);
std::string known_activations();  // joined with commas

// Sizes, activation, dropout, norms, positions, and `tied` as it is where nothing is said; absent settings are
// transformers' own. Throws ConfigError for settings under which the model would compute something else than
// ours does.
ModelConfig settings_of(Family family, const ConfigFields& fields);

}  // namespace trireme
