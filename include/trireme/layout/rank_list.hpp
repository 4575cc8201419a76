// Ranks in words.
#pragma once

#include <string>
#include <vector>

namespace trireme {

// "rank 4", "ranks 0,1", "ranks 0-3,8": three or more neighbours in a row are a run.
std::string text_of_ranks(const std::vector<int>& ranks);

}  // namespace trireme
