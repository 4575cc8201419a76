// Numbers as people read them: 314,067 and 1.9 MB.
#pragma once

#include <cstdint>
#include <string>

namespace trireme {

std::string with_commas(std::uint64_t number);
std::string in_megabytes(double bytes);
std::string one_decimal(double value);

}  // namespace trireme
