#include "trireme/model/dropout_site.hpp"

#include "trireme/model/tensor_group.hpp"

namespace trireme {

RandomKey site_key(const Pass& pass, std::size_t block, Site site) {
    return pass.dropout_key.then(block).then(static_cast<std::uint64_t>(site));
}

Dropout dropout_at(const Pass& pass, double rate, std::size_t block, Site site) {
    const Range own = own_rows(pass);
    Dropout dropout = dropout_of_all_rows(pass, rate, block, site);
    dropout.samples = dropout.samples.column_range(own.begin, own.count);
    dropout.positions = dropout.positions.column_range(own.begin, own.count);
    return dropout;
}

Dropout dropout_of_all_rows(const Pass& pass, double rate, std::size_t block, Site site) {
    return {.rate = pass.is_training ? rate : 0,
            .key = site_key(pass, block, site),
            .samples = pass.batch.visits,
            .positions = pass.batch.positions};
}

void drop_out(const Pass& pass, Tensor values, const Dropout& dropout) {
    if (!dropout.is_on()) return;
    launch(pass.stream, ResidualAdd{.residual = {}, .input = values, .output = values, .dropout = dropout});
}

ConstTensor drop_out_backward(const Pass& pass, ConstTensor grad_output, const Dropout& dropout, Arena& arena) {
    if (!dropout.is_on()) return grad_output;
    const Tensor grad = arena.tensor(pass.dtype, grad_output.rows, grad_output.columns);
    launch(pass.stream, DropoutBackward{.grad_output = grad_output, .grad_input = grad, .dropout = dropout});
    return grad;
}

}  // namespace trireme
