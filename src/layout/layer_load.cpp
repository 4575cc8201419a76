#include "trireme/layout/layer_load.hpp"

#include <algorithm>

namespace trireme {

LayerLoad recomputed(const LayerLoad& load) {
    LayerLoad again = load;
    again.seconds += load.forward_seconds;
    again.kept_bytes = load.row_bytes;
    return again;
}

LayerLoad joined(const LayerLoad& load, const LayerLoad& next) {
    return {.seconds = load.seconds + next.seconds,
            .forward_seconds = load.forward_seconds + next.forward_seconds,
            .update_seconds = load.update_seconds + next.update_seconds,
            .row_bytes = next.row_bytes,
            .parameter_bytes = load.parameter_bytes + next.parameter_bytes,
            .kept_bytes = load.kept_bytes + next.kept_bytes,
            .held_bytes = load.held_bytes + next.held_bytes,
            .workspace_bytes = std::max(load.workspace_bytes, next.workspace_bytes)};
}

}  // namespace trireme
