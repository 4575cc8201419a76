#include "model/rebalance/kept_channels.hpp"

#include "trireme/kernels/columns.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/kernels/fill.hpp"

namespace trireme::model {
namespace {

kernels::Unnamed unnamed_by(Filling filling) {
    switch (filling) {
        case Filling::zero:
            return kernels::Unnamed::zero;
        case Filling::average:
            return kernels::Unnamed::mean;
        case Filling::same:
            return kernels::Unnamed::stay;
    }
    throw BugError("unknown filling");
}

// A scatter of compact channels into a weight, whose channels are its rows or its columns.
struct WeightScatter {
    device::ConstTensor compact;
    device::Tensor output;
    kernels::Unnamed unnamed = kernels::Unnamed::stay;
    bool accumulate = false;
};

void scatter(const Pass& pass, kernels::WeightAxes axes, const KeptChannels& kept, const WeightScatter& what) {
    if (axes == kernels::WeightAxes::in_out) {
        launch(pass.stream, kernels::ScatterRows{.input = what.compact,
                                                 .rows = kept.indices(),
                                                 .output = what.output,
                                                 .unnamed = what.unnamed,
                                                 .accumulate = what.accumulate});
    } else {
        launch(pass.stream, kernels::ScatterColumns{.input = what.compact,
                                                    .columns = kept.indices(),
                                                    .output = what.output,
                                                    .unnamed = what.unnamed,
                                                    .accumulate = what.accumulate});
    }
}

// Returns the last gradients of the input: (rows, channels). They are zero if the last micro-batch had another
// number of rows.
device::Tensor last_input(const Pass& pass, std::size_t rows, KeptChannels& kept) {
    if (rows > kept.last_input.rows) {
        throw BugError(cat("a micro-batch of ", rows, " rows came where at most ", kept.last_input.rows,
                           " are remembered"));
    }
    const device::Tensor last = kept.last_input.row_range(0, rows);
    if (rows != kept.last_rows) launch(pass.stream, kernels::Fill{.output = last, .value = 0});
    kept.last_rows = rows;
    return last;
}

}  // namespace

device::ConstTensor kept_input(const Pass& pass, device::ConstTensor input, const KeptChannels& kept) {
    const device::Tensor compact = room_for_input(pass, input.rows, kept);
    launch(pass.stream, kernels::GatherColumns{.input = input, .columns = kept.indices(), .output = compact});
    return compact;
}

device::ConstTensor kept_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                                const KeptChannels& kept) {
    const device::Tensor compact = room_for_weight(pass, weight, axes, kept);
    if (axes == kernels::WeightAxes::in_out) {
        launch(pass.stream, kernels::GatherRows{.input = weight, .rows = kept.indices(), .output = compact});
    } else {
        launch(pass.stream,
               kernels::GatherColumns{.input = weight, .columns = kept.indices(), .output = compact});
    }
    return compact;
}

device::Tensor room_for_input(const Pass& pass, std::size_t rows, const KeptChannels& kept) {
    return pass.scratch.tensor(pass.dtype, rows, kept.channels.size());
}

device::Tensor room_for_weight(const Pass& pass, device::ConstTensor weight, kernels::WeightAxes axes,
                               const KeptChannels& kept) {
    const std::size_t count = kept.channels.size();
    const bool is_in_out = axes == kernels::WeightAxes::in_out;
    return pass.scratch.tensor(weight.dtype, is_in_out ? count : weight.rows,
                               is_in_out ? weight.columns : count);
}

void spread_input(const Pass& pass, device::ConstTensor compact, KeptChannels& kept,
                  device::Tensor grad_input) {
    const bool remembers = kept.filling == Filling::same;
    const device::Tensor target = remembers ? last_input(pass, compact.rows, kept) : grad_input;
    launch(pass.stream, kernels::ScatterColumns{.input = compact,
                                                .columns = kept.indices(),
                                                .output = target,
                                                .unnamed = unnamed_by(kept.filling)});
    if (remembers) launch(pass.stream, kernels::Copy{.input = target, .output = grad_input});
}

void spread_weight(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes, KeptChannels& kept,
                   std::size_t part, device::Tensor grad_weight) {
    if (kept.filling != Filling::same) {
        return scatter(pass, axes, kept,
                       {.compact = compact,
                        .output = grad_weight,
                        .unnamed = unnamed_by(kept.filling),
                        .accumulate = true});
    }
    const device::Tensor last = kept.last_weights[part];
    scatter(pass, axes, kept, {.compact = compact, .output = last});
    launch(pass.stream, kernels::ResidualAdd{.residual = grad_weight, .input = last, .output = grad_weight});
}

void put_in_input(const Pass& pass, device::ConstTensor compact, const KeptChannels& some,
                  device::Tensor grad_input) {
    launch(pass.stream,
           kernels::ScatterColumns{.input = compact, .columns = some.indices(), .output = grad_input});
}

void add_to_input(const Pass& pass, device::ConstTensor compact, const KeptChannels& some,
                  device::Tensor grad_input) {
    launch(pass.stream,
           kernels::ScatterColumns{
               .input = compact, .columns = some.indices(), .output = grad_input, .accumulate = true});
}

void add_to_weight(const Pass& pass, device::ConstTensor compact, kernels::WeightAxes axes,
                   const KeptChannels& some, device::Tensor grad_weight) {
    scatter(pass, axes, some, {.compact = compact, .output = grad_weight, .accumulate = true});
}

}  // namespace trireme::model
