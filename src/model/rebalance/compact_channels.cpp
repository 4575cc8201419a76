#include "model/rebalance/compact_channels.hpp"

#include "trireme/base/numbers.hpp"
#include "trireme/kernels/columns.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::model {
namespace {

kernels::UnindexedFill find_fill_rule(Filling filling) {
    switch (filling) {
        case Filling::zero:
            return kernels::UnindexedFill::zero;
        case Filling::average:
            return kernels::UnindexedFill::mean;
        case Filling::same:
            return kernels::UnindexedFill::keep;
    }
    throw BugError("unknown filling");
}

// Arguments of launch_scatter(). See kernels::ScatterRows for `unindexed_fill` and `accumulate`.
struct WeightScatter {
    device::ConstTensor compact;  // (count, out) or (out, count)
    device::Tensor output;        // (channels, out) or (out, channels)
    kernels::UnindexedFill unindexed_fill = kernels::UnindexedFill::keep;
    bool accumulate = false;
};

// Writes the selected input channels of a weight gradient to their positions in the gradient of all channels.
void launch_scatter(const Pass& pass, kernels::WeightAxes axes, const SelectedChannels& selected,
                    const WeightScatter& scatter) {
    if (axes == kernels::WeightAxes::in_out) {
        launch(pass.stream, kernels::ScatterRows{.input = scatter.compact,
                                                 .rows = selected.indices(),
                                                 .output = scatter.output,
                                                 .unindexed_fill = scatter.unindexed_fill,
                                                 .accumulate = scatter.accumulate});
    } else {
        launch(pass.stream, kernels::ScatterColumns{.input = scatter.compact,
                                                    .columns = selected.indices(),
                                                    .output = scatter.output,
                                                    .unindexed_fill = scatter.unindexed_fill,
                                                    .accumulate = scatter.accumulate});
    }
}

// Returns the input gradient that Filling::same stores, (rows, all channels). Sets the gradient to zero if the
// preceding micro-batch had another number of rows.
device::Tensor prepare_last_input_gradient(const Pass& pass, std::size_t rows, SelectedChannels& selected) {
    if (rows > selected.last_input_gradient.rows) {
        throw BugError(cat("a micro-batch has ", rows, " rows, but the stored input gradient has only ",
                           format_count(selected.last_input_gradient.rows, "row")));
    }
    const device::Tensor last_gradient = selected.last_input_gradient.row_range(0, rows);
    if (rows != selected.last_rows) launch(pass.stream, kernels::Fill{.output = last_gradient, .value = 0});
    selected.last_rows = rows;
    return last_gradient;
}

}  // namespace

device::ConstTensor gather_selected_input(const Pass& pass, device::ConstTensor input,
                                          const SelectedChannels& selected) {
    const device::Tensor compact = allocate_compact_input(pass, input.rows, selected);
    launch(pass.stream,
           kernels::GatherColumns{.input = input, .columns = selected.indices(), .output = compact});
    return compact;
}

device::ConstTensor gather_selected_weight(const Pass& pass, device::ConstTensor weight,
                                           kernels::WeightAxes axes, const SelectedChannels& selected) {
    const device::Tensor compact = allocate_compact_weight(pass, weight, axes, selected);
    if (axes == kernels::WeightAxes::in_out) {
        launch(pass.stream,
               kernels::GatherRows{.input = weight, .rows = selected.indices(), .output = compact});
    } else {
        launch(pass.stream,
               kernels::GatherColumns{.input = weight, .columns = selected.indices(), .output = compact});
    }
    return compact;
}

device::Tensor allocate_compact_input(const Pass& pass, std::size_t rows, const SelectedChannels& selected) {
    return pass.scratch.tensor(pass.dtype, rows, selected.channels.size());
}

device::Tensor allocate_compact_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                                       const SelectedChannels& selected) {
    const std::size_t count = selected.channels.size();
    const bool is_in_out = axes == kernels::WeightAxes::in_out;
    return pass.scratch.tensor(weight.dtype, is_in_out ? count : weight.rows,
                               is_in_out ? weight.columns : count);
}

void expand_input_gradient(const Pass& pass, device::ConstTensor compact, SelectedChannels& selected,
                           device::Tensor grad_input) {
    const bool stores_gradient = selected.filling == Filling::same;
    const device::Tensor expanded_gradient =
        stores_gradient ? prepare_last_input_gradient(pass, compact.rows, selected) : grad_input;
    launch(pass.stream, kernels::ScatterColumns{.input = compact,
                                                .columns = selected.indices(),
                                                .output = expanded_gradient,
                                                .unindexed_fill = find_fill_rule(selected.filling)});
    if (stores_gradient) launch(pass.stream, kernels::Copy{.input = expanded_gradient, .output = grad_input});
}

void expand_weight_gradient(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                            SelectedChannels& selected, std::size_t matrix_index, device::Tensor grad_weight) {
    if (selected.filling != Filling::same) {
        return launch_scatter(pass, axes, selected,
                              {.compact = compact,
                               .output = grad_weight,
                               .unindexed_fill = find_fill_rule(selected.filling),
                               .accumulate = true});
    }
    const device::Tensor last_gradient = selected.last_weight_gradients[matrix_index];
    launch_scatter(pass, axes, selected, {.compact = compact, .output = last_gradient});
    launch(pass.stream,
           kernels::ResidualAdd{.residual = grad_weight, .input = last_gradient, .output = grad_weight});
}

void copy_into_input_gradient(const Pass& pass, device::ConstTensor compact, const SelectedChannels& offloaded,
                              device::Tensor grad_input) {
    launch(pass.stream,
           kernels::ScatterColumns{.input = compact, .columns = offloaded.indices(), .output = grad_input});
}

void add_to_input_gradient(const Pass& pass, device::ConstTensor compact, const SelectedChannels& offloaded,
                           device::Tensor grad_input) {
    launch(pass.stream,
           kernels::ScatterColumns{
               .input = compact, .columns = offloaded.indices(), .output = grad_input, .accumulate = true});
}

void add_to_weight_gradient(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                            const SelectedChannels& offloaded, device::Tensor grad_weight) {
    launch_scatter(pass, axes, offloaded, {.compact = compact, .output = grad_weight, .accumulate = true});
}

}  // namespace trireme::model
