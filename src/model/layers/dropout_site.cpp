#include "trireme/model/dropout_site.hpp"

#include "trireme/model/tensor_group.hpp"

namespace trireme::model {

RandomKey make_site_key(const Pass& pass, std::size_t block, DropoutSite site) {
    return pass.dropout_key.then(block).then(static_cast<std::uint64_t>(site));
}

kernels::Dropout make_dropout_for_own_rows(const Pass& pass, double rate, std::size_t block, DropoutSite site) {
    const layout::Range own_rows = find_own_rows(pass);
    kernels::Dropout dropout = make_dropout_for_all_rows(pass, rate, block, site);
    dropout.samples = dropout.samples.column_range(own_rows.begin, own_rows.count);
    dropout.positions = dropout.positions.column_range(own_rows.begin, own_rows.count);
    return dropout;
}

kernels::Dropout make_dropout_for_all_rows(const Pass& pass, double rate, std::size_t block, DropoutSite site) {
    return {.rate = pass.is_training ? rate : 0,
            .key = make_site_key(pass, block, site),
            .samples = pass.batch.visits,
            .positions = pass.batch.positions};
}

void apply_dropout(const Pass& pass, device::Tensor values, const kernels::Dropout& dropout) {
    if (!dropout.is_on()) return;
    launch(pass.stream,
           kernels::ResidualAdd{.residual = {}, .input = values, .output = values, .dropout = dropout});
}

device::ConstTensor apply_dropout_backward(const Pass& pass, device::ConstTensor grad_output,
                                           const kernels::Dropout& dropout, device::Arena& arena) {
    if (!dropout.is_on()) return grad_output;
    const device::Tensor grad_input = arena.tensor(pass.dtype, grad_output.rows, grad_output.columns);
    launch(pass.stream,
           kernels::DropoutBackward{.grad_output = grad_output, .grad_input = grad_input, .dropout = dropout});
    return grad_input;
}

}  // namespace trireme::model
