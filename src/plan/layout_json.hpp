// Layouts and migrations as JSON values, which become parts of larger JSON values.
#pragma once

#include <nlohmann/json.hpp>

#include "trireme/layout/layout.hpp"
#include "trireme/layout/migration.hpp"

namespace trireme::plan {

// Returns the JSON that parse_layout() parses. The shares of a replica are omitted if all of them are 1, and
// its turns if they are 1.
nlohmann::ordered_json to_json_value(const layout::Layout& layout);

// Returns [{"from": 0, "to": 2, "parts": [0.25, 0.25, 0.25, 0.25]}, ...], where "parts" are the fractions.
nlohmann::ordered_json to_json_value(const std::vector<layout::Migration>& migrations);

}  // namespace trireme::plan
