#include "trireme/model/tensor_group.hpp"

#include "trireme/comm/collectives.hpp"
#include "trireme/kernels/rows.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::model {
namespace {

bool are_rows_cut(const Pass& pass) { return pass.group != nullptr && pass.group->cuts_rows; }

std::vector<layout::Range> row_ranges(const Pass& pass) {
    return layout::cut_evenly(pass.batch.rows(), static_cast<std::size_t>(pass.group->ranks.size()));
}

}  // namespace

layout::Range own_rows(const Pass& pass) {
    if (!are_rows_cut(pass)) return {0, pass.batch.rows()};
    return row_ranges(pass)[static_cast<std::size_t>(pass.group->ranks.rank())];
}

bool counts_what_all_hold(const Pass& pass) {
    return pass.group == nullptr || pass.group->cuts_rows || pass.group->ranks.rank() == 0;
}

device::ConstTensor whole_rows(const Pass& pass, device::ConstTensor own, device::Arena& arena) {
    if (!are_rows_cut(pass)) return own;
    const device::Tensor whole = arena.tensor(pass.dtype, pass.batch.rows(), own.columns);
    launch(pass.stream, kernels::Copy{.input = own, .output = own_part(pass, whole)});
    gather_rows(pass.group->ranks, whole, row_ranges(pass));
    return whole;
}

device::Tensor sum_over_ranks(const Pass& pass, device::Tensor partial) {
    if (pass.group == nullptr) return partial;
    TensorGroup group = *pass.group;
    if (group.cuts_rows) {
        sum_rows(group.ranks, partial, row_ranges(pass), group.exchange);
    } else {
        sum_in_rank_order(group.ranks, partial, group.exchange);
    }
    return own_part(pass, partial);
}

}  // namespace trireme::model
