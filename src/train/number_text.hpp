// Numbers as people read them.
#pragma once

#include <cstddef>
#include <string>

namespace trireme {

std::string grouped(std::size_t number);  // 1,234,567

}  // namespace trireme
