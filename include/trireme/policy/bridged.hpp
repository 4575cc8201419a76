// What costs nothing to begin with, until it is clear that what moves the state will be of use for long.
#pragma once

#include <cstddef>

#include "trireme/policy/policy.hpp"

namespace trireme {

// `bridge` decides while some rank is slow and has not been as it is for `steps` steps, then `lasting`; and
// where that has nothing to change, `bridge` takes back what it did for ranks that have recovered.
Policy bridged(Policy bridge, Policy lasting, std::size_t steps);

}  // namespace trireme
