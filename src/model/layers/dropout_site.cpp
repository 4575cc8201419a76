#include "trireme/model/dropout_site.hpp"

#include "trireme/model/tensor_group.hpp"

namespace trireme::model {

RandomKey site_key(const Pass& pass, std::size_t block, Site site) {
    return pass.dropout_key.then(block).then(static_cast<std::uint64_t>(site));
}

kernels::Dropout dropout_at(const Pass& pass, double rate, std::size_t block, Site site) {
    const layout::Range own = own_rows(pass);
    kernels::Dropout dropout = dropout_of_all_rows(pass, rate, block, site);
    dropout.samples = dropout.samples.column_range(own.begin, own.count);
    dropout.positions = dropout.positions.column_range(own.begin, own.count);
    return dropout;
}

kernels::Dropout dropout_of_all_rows(const Pass& pass, double rate, std::size_t block, Site site) {
    return {.rate = pass.is_training ? rate : 0,
            .key = site_key(pass, block, site),
            .samples = pass.batch.visits,
            .positions = pass.batch.positions};
}

void drop_out(const Pass& pass, device::Tensor values, const kernels::Dropout& dropout) {
    if (!dropout.is_on()) return;
    launch(pass.stream,
           kernels::ResidualAdd{.residual = {}, .input = values, .output = values, .dropout = dropout});
}

device::ConstTensor drop_out_backward(const Pass& pass, device::ConstTensor grad_output,
                                      const kernels::Dropout& dropout, device::Arena& arena) {
    if (!dropout.is_on()) return grad_output;
    const device::Tensor grad = arena.tensor(pass.dtype, grad_output.rows, grad_output.columns);
    launch(pass.stream,
           kernels::DropoutBackward{.grad_output = grad_output, .grad_input = grad, .dropout = dropout});
    return grad;
}

}  // namespace trireme::model
