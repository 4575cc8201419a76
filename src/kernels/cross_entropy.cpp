#include "trireme/kernels/cross_entropy.hpp"

#include "kernels/shape_check.hpp"

namespace trireme {

void CrossEntropy::check() const {
    const ShapeCheck check("cross_entropy", logits.dtype);
    check.matrix("logits", logits, logits.rows, logits.columns);
    check.demand(logits.columns > 0, "there is no vocabulary: logits have no columns");
    check.vector_of(DType::i32, "targets", targets, logits.rows);
    check.vector_of(DType::f64, "losses", losses, logits.rows);
    if (choices.is_present()) check.vector_of(DType::i32, "choices", choices, logits.rows);
    check.demand(smoothing >= 0 && smoothing < 1, "a smoothing of ", smoothing, " is not in [0, 1)");
}

Cost CrossEntropy::cost() const {
    const bool writes_gradients = gradient_scale != 0;
    const std::size_t bytes =
        (writes_gradients ? 2 : 1) * logits.bytes() + targets.bytes() + losses.bytes() + choices.bytes();
    return {.kernel = "cross_entropy", .bytes = static_cast<double>(bytes)};
}

NamedTensors CrossEntropy::tensors() const {
    return {{"logits", logits}, {"targets", targets}, {"losses", losses}, {"choices", choices}};
}

}  // namespace trireme
