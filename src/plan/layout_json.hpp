// A layout as a JSON value, for those who write it into a larger one.
#pragma once

#include <nlohmann/json.hpp>

#include "trireme/layout/layout.hpp"

namespace trireme {

// Keys in the order that people read them. Shares are left out where all of them are 1.
nlohmann::ordered_json json_value_of(const Layout& layout);

}  // namespace trireme
