#include "trireme/model/tensor_group.hpp"

#include "trireme/comm/collectives.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::model {
namespace {

bool uses_sequence_parallelism(const Pass& pass) { return pass.group != nullptr && pass.group->cuts_rows; }

// Returns the rows of each tensor rank with sequence parallelism.
std::vector<layout::Range> cut_rows(const Pass& pass) {
    return layout::cut_evenly(pass.batch.rows(), static_cast<std::size_t>(pass.group->communicator.size()));
}

}  // namespace

layout::Range find_own_rows(const Pass& pass) {
    if (!uses_sequence_parallelism(pass)) return {0, pass.batch.rows()};
    return cut_rows(pass)[static_cast<std::size_t>(pass.group->communicator.rank())];
}

bool adds_shared_gradients(const Pass& pass) {
    return pass.group == nullptr || pass.group->cuts_rows || pass.group->communicator.rank() == 0;
}

device::ConstTensor gather_all_rows(const Pass& pass, device::ConstTensor own_rows, device::Arena& arena) {
    if (!uses_sequence_parallelism(pass)) return own_rows;
    const device::Tensor all_rows = arena.tensor(pass.dtype, pass.batch.rows(), own_rows.columns);
    launch(pass.stream, kernels::Copy{.input = own_rows, .output = view_own_rows(pass, all_rows)});
    all_gather_rows(pass.group->communicator, all_rows, cut_rows(pass));
    return all_rows;
}

device::Tensor reduce_over_ranks(const Pass& pass, device::Tensor partial_sum) {
    if (pass.group == nullptr) return partial_sum;
    TensorGroup group = *pass.group;
    if (group.cuts_rows) {
        reduce_scatter_rows(group.communicator, partial_sum, cut_rows(pass), group.exchange);
    } else {
        all_reduce(group.communicator, partial_sum, group.exchange);
    }
    return view_own_rows(pass, partial_sum);
}

}  // namespace trireme::model
