// A batch as the model reads it.
#pragma once

#include <memory>
#include <vector>

#include "trireme/data/batch.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/stage/predict.hpp"
#include "trireme/stage/sent_batch.hpp"

namespace trireme {

// Where the samples of a micro-batch lie.
BatchShape shape_of(const MicroBatch& micro_batch, const std::vector<Sample>& samples);

// Points into the batch, which must outlive it; or to where `sender` has sent it, for kernels that its queue is
// given from here on.
class BatchView {
public:
    explicit BatchView(const Batch& batch, ByteSender* sender = nullptr);
    // Of ghosts: see ghost_batch().
    BatchView(const ModelConfig& model, BatchShape shape);
    BatchView(const BatchView&) = delete;
    BatchView& operator=(const BatchView&) = delete;

    const TokenBatch& tokens() const { return view_; }
    const std::vector<std::int32_t>& targets() const { return targets_; }  // of the predicted rows

private:
    BatchShape shape_;  // its segments
    std::vector<std::int32_t> targets_;
    TokenBatch view_;
    std::shared_ptr<std::byte> on_gpu_;
};

}  // namespace trireme
