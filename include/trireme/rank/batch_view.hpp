// A view of a data::Batch as a model::TokenBatch, which layers read.
#pragma once

#include <memory>
#include <vector>

#include "trireme/data/batch.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/stage/batch_upload.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::rank {

class BatchView {
public:
    // Without an uploader, the view refers to the memory of `batch`, which must outlive the view. With an
    // uploader, the view refers to a copy of the batch on the GPU. Kernels that are launched after this call on
    // the uploader's queue may read the copy.
    explicit BatchView(const data::Batch& batch, device::GpuUploader* uploader = nullptr);
    // Makes a view for a ghost run, without values: see make_ghost_batch().
    BatchView(const model::ModelConfig& model, stage::BatchShape shape);
    BatchView(const BatchView&) = delete;
    BatchView& operator=(const BatchView&) = delete;

    const model::TokenBatch& tokens() const { return view_; }
    // Returns one target per predicted row, in host memory. Empty in ghost runs.
    const std::vector<std::int32_t>& targets() const { return targets_; }

private:
    stage::BatchShape shape_;
    std::vector<std::int32_t> targets_;
    model::TokenBatch view_;
    std::shared_ptr<std::byte> gpu_copy_;  // null without an uploader
};

}  // namespace trireme::rank
