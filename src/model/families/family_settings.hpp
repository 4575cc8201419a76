// What a config.json says in the words of its family.
#pragma once

#include "model/families/config_fields.hpp"
#include "trireme/model/config.hpp"

namespace trireme {

// Sizes, activation, dropout, norms, positions, and `tied` as it is where nothing is said; absent settings are
// transformers' own. Throws ConfigError for settings under which the model would compute something else than
// ours does.
ModelConfig settings_of(Family family, const ConfigFields& fields);

}  // namespace trireme
