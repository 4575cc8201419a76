// A batch as the model reads it.
#pragma once

#include <vector>

#include "trireme/data/batch.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

// Points into the batch, which must outlive it.
class BatchView {
public:
    explicit BatchView(const Batch& batch);
    BatchView(const BatchView&) = delete;
    BatchView& operator=(const BatchView&) = delete;

    const TokenBatch& tokens() const { return view_; }
    const std::vector<std::int32_t>& targets() const { return targets_; }  // of the predicted rows

private:
    std::vector<Segment> segments_;
    std::vector<std::int32_t> targets_;
    TokenBatch view_;
};

}  // namespace trireme
