// What LocalStages do before the first pass: they get memory and rehearse.

#include "trireme/model/tensor_group.hpp"
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

void LocalStages::rehearse(Stream& stream, const TokenBatch& batch, bool in_halves) {
    const Pass pass{.stream = stream,
                    .batch = batch,
                    .scratch = workspace_.scratch,
                    .dtype = work_.dtype,
                    .is_training = true,
                    .group = group_.get()};
    const LayerLeft nobody_listens = [](const auto&) {};
    passes_.rehearse(true);
    for (const int number : work_.stages) {
        const Stage& own = stage(number);
        Flight flight(0, place_);
        const auto neighbour = [&](bool is_end) {
            return is_end ? Tensor{} : rows_.take(own_rows(pass).count);
        };
        Tensor input = neighbour(own.is_first());
        Tensor grad_output = neighbour(own.is_last());
        Tensor grad_input = neighbour(own.is_first());
        passes_.forward(own, number, pass, input, flight);
        if (in_halves) {
            passes_.backward_input(own, number, pass, grad_output, grad_input, flight);
            passes_.backward_weight(own, number, pass, flight, nobody_listens, false);
        } else {
            passes_.backward(own, number, pass, grad_output, grad_input, flight, nobody_listens, false);
        }
        for (Tensor* place : {&input, &grad_output, &grad_input}) give_back(*place);
    }
    passes_.rehearse(false);
}

}  // namespace trireme
