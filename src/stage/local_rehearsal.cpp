#include "trireme/model/tensor_group.hpp"
#include "trireme/stage/local_stages.hpp"

namespace trireme {

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
