// Whose turn it is, where several do work of the same kind.
#pragma once

#include <cstddef>
#include <vector>

namespace trireme {

// Who does each of `count` equal pieces of work, where each does as many in a second as its part says: always
// whoever is done with one more the soonest, the first of equal ones. So the last of them is done as early as
// can be, and parts that sum up to `count` are the numbers of pieces.
std::vector<std::size_t> take_turns(const std::vector<double>& parts, std::size_t count);

// Likewise how many pieces each does; where there are enough, one at least.
std::vector<std::size_t> count_turns(const std::vector<double>& parts, std::size_t count);

}  // namespace trireme
