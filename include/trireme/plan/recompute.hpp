// What a forward pass keeps for the backward pass.
#pragma once

#include <cstdint>
#include <string>

namespace trireme {

//   none        everything that the backward pass reads
//   selective   not what is cheap to compute again: outputs of norms and of activations
//   full        the input of each block alone; its forward pass is done again (Chen et al., 2016)
enum class Recompute : std::uint8_t { none, selective, full };

const char* name_of(Recompute recompute);

}  // namespace trireme
