// A layout and migrations as JSON values, to be embedded in larger ones.
#pragma once

#include <nlohmann/json.hpp>

#include "trireme/layout/layout.hpp"
#include "trireme/layout/migration.hpp"

namespace trireme::plan {

// Keys come in a readable order. Shares are omitted if all of them are 1.
nlohmann::ordered_json json_value_of(const layout::Layout& layout);

// [{"from": 0, "to": 2, "parts": [0.25, 0.25, 0.25, 0.25]}, ...]
nlohmann::ordered_json json_value_of(const std::vector<layout::Migration>& migrations);

}  // namespace trireme::plan
