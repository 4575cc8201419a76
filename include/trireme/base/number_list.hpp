// Numbers in words: cores, ranks.
#pragma once

#include <span>
#include <string>

namespace trireme {

// "0-3,8" of numbers that ascend: three or more neighbours in a row are a run. Empty for none.
std::string number_list(std::span<const int> numbers);

}  // namespace trireme
