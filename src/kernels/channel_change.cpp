#include "trireme/kernels/channel_change.hpp"

#include "kernels/shape_check.hpp"

namespace trireme {

void ChannelChange::check() const {
    const ShapeCheck check("channel_change", weight.dtype);
    check.matrix("weight", weight, weight.rows, weight.columns);
    check.matrix("before", before, weight.rows, weight.columns);
    check.vector_of(DType::f64, "change", change, axes == WeightAxes::in_out ? weight.rows : weight.columns);
}

Cost ChannelChange::cost() const {
    return {.kernel = "channel_change",
            .bytes = static_cast<double>(weight.bytes() + before.bytes() + 2 * change.bytes())};
}

NamedTensors ChannelChange::tensors() const {
    return {{"weight", weight}, {"before", before}, {"change", change}};
}

}  // namespace trireme
