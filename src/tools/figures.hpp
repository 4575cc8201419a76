// Numbers as people read them: 314,067 and 1.9 MB.
#pragma once

#include <string>

#include "trireme/base/numbers.hpp"

namespace trireme {

std::string in_megabytes(double bytes);
std::string one_decimal(double value);

}  // namespace trireme
