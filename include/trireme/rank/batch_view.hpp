// A batch as the model reads it.
#pragma once

#include <memory>
#include <vector>

#include "trireme/data/batch.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/stage/predict.hpp"
#include "trireme/stage/sent_batch.hpp"

namespace trireme::rank {

// Where the samples of a micro-batch lie.
stage::BatchShape shape_of(const plan::Microbatch& microbatch, const std::vector<data::Sample>& samples);

// Points into the batch, which must outlive it; or to where `sender` has sent it, for kernels that its queue is
// given from here on.
class BatchView {
public:
    explicit BatchView(const data::Batch& batch, device::ByteSender* sender = nullptr);
    // Of ghosts: see ghost_batch().
    BatchView(const model::ModelConfig& model, stage::BatchShape shape);
    BatchView(const BatchView&) = delete;
    BatchView& operator=(const BatchView&) = delete;

    const model::TokenBatch& tokens() const { return view_; }
    const std::vector<std::int32_t>& targets() const { return targets_; }  // of the predicted rows

private:
    stage::BatchShape shape_;  // its segments
    std::vector<std::int32_t> targets_;
    model::TokenBatch view_;
    std::shared_ptr<std::byte> on_gpu_;
};

}  // namespace trireme::rank
