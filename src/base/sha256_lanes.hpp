// The arithmetic of SHA-256 for sixteen messages at once: one number of each in every vector. A processor with
// vectors of 512 bits is quicker so than by its instructions for one message.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace trireme {

inline constexpr std::size_t sha256_lanes = 16;

// Whether this processor has such vectors.
bool has_sha256_lanes();

// Word w of the state of message l in state[w][l].
using LaneStates = std::array<std::array<std::uint32_t, sha256_lanes>, 8>;

// So many blocks of 64 bytes of each message. For processors that have the vectors.
void absorb_by_lanes(LaneStates& state, const std::array<const std::byte*, sha256_lanes>& messages,
                     std::size_t blocks);

}  // namespace trireme
