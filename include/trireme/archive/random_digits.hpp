// Names that no other process chooses, on this machine or another.
#pragma once

#include <string>

namespace trireme {

constexpr int random_name_length = 8;

// So many hexadecimal digits, others on every call.
std::string random_digits(int count = random_name_length);

}  // namespace trireme
