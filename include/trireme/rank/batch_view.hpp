// A view of a batch in the form that the model reads.
#pragma once

#include <memory>
#include <vector>

#include "trireme/data/batch.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/stage/predict.hpp"
#include "trireme/stage/sent_batch.hpp"

namespace trireme::rank {

// Returns the rows of each sample of a micro-batch.
stage::BatchShape shape_of(const plan::Microbatch& microbatch, const std::vector<data::Sample>& samples);

class BatchView {
public:
    // Refers to the memory of `batch`, which must outlive the view. With a `sender`, refers to a copy on the
    // GPU instead, which is valid for kernels that are queued after this call.
    explicit BatchView(const data::Batch& batch, device::ByteSender* sender = nullptr);
    // Makes a view for ghosts, which have no values: see ghost_batch().
    BatchView(const model::ModelConfig& model, stage::BatchShape shape);
    BatchView(const BatchView&) = delete;
    BatchView& operator=(const BatchView&) = delete;

    const model::TokenBatch& tokens() const { return view_; }
    const std::vector<std::int32_t>& targets() const { return targets_; }  // one per predicted row

private:
    stage::BatchShape shape_;
    std::vector<std::int32_t> targets_;
    model::TokenBatch view_;
    std::shared_ptr<std::byte> on_gpu_;
};

}  // namespace trireme::rank
