#include "trireme/stage/local_stages.hpp"

namespace trireme {

void LocalStages::work_in(const StageMemory& memory) {
    free_flights_.clear();
    flights_made_ = 0;
    work_.memory = memory;
    workspace_ = Workspace(memory, place_);
}

std::size_t LocalStages::peak_bytes() const {
    return flights_made_ * work_.memory.activations + rows_.count() * rows_.bytes_each();
}

}  // namespace trireme
