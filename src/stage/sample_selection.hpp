// Some of the samples of a micro-batch, as a micro-batch of their own.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/device/buffer.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::stage {

class SampleSelection {
public:
    // Selects the samples whose numbers in `batch` are `samples`, packed in this order. Allocates the tensors
    // that layers other than heads read from `arena`. Both arguments must outlive this object.
    SampleSelection(const model::TokenBatch& batch, const std::vector<std::size_t>& samples,
                    device::Arena& arena);
    SampleSelection(const SampleSelection&) = delete;
    SampleSelection& operator=(const SampleSelection&) = delete;

    const model::TokenBatch& batch() const { return selected_; }
    // Copies the rows of the selected samples. `all` has the rows of the whole micro-batch, and `selected` the
    // rows of batch().
    void gather(device::ConstTensor all, device::Tensor selected) const;
    // Copies the rows of the first `samples` selected samples back.
    void scatter(device::ConstTensor selected, device::Tensor all, std::size_t samples) const;

private:
    device::ConstTensor select_columns(device::ConstTensor values, device::Arena& arena) const;

    const model::TokenBatch& batch_;
    const std::vector<std::size_t>& samples_;
    std::vector<kernels::Segment> segments_;
    model::TokenBatch selected_ = {};
};

}  // namespace trireme::stage
