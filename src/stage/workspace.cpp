#include "trireme/stage/workspace.hpp"

#include <algorithm>

namespace trireme {

StageMemory larger_of(const StageMemory& a, const StageMemory& b) {
    return {.activations = std::max(a.activations, b.activations),
            .scratch = std::max(a.scratch, b.scratch),
            .again = std::max(a.again, b.again),
            .exchange = std::max(a.exchange, b.exchange)};
}

}  // namespace trireme
