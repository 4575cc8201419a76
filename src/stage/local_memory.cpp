#include "trireme/stage/local_stages.hpp"

namespace trireme {

void LocalStages::work_in(const StageMemory& memory) {
    free_flights_.clear();
    flights_made_ = 0;
    work_.memory = memory;
    workspace_ = Workspace(memory, place_);
}

void LocalStages::make_flight() {
    free_flights_.push_back(std::make_unique<Flight>(work_.memory.activations, place_));
    ++flights_made_;
}

void LocalStages::reserve(std::size_t flights, std::size_t row_buffers) {
    while (flights_made_ < flights) make_flight();
    rows_.reserve(row_buffers);
}

std::size_t LocalStages::peak_bytes() const {
    return flights_made_ * work_.memory.activations + rows_.count() * rows_.bytes_each();
}

}  // namespace trireme
