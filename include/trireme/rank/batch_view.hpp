// A view of a batch as the model::TokenBatch that layers read.
#pragma once

#include <memory>
#include <vector>

#include "trireme/data/batch.hpp"
#include "trireme/model/layer.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/stage/batch_upload.hpp"
#include "trireme/stage/predict.hpp"

namespace trireme::rank {

// Returns the number of terms of the loss of these visits to training samples. If the job has no corpus, every
// row of a sample counts.
std::size_t count_targets(const setup::Job& job, const std::vector<plan::SampleVisit>& visits);

// Returns the shape of a micro-batch of training samples.
stage::BatchShape make_batch_shape(const setup::Job& job, const plan::Microbatch& microbatch);

class BatchView {
public:
    // Refers to the memory of `batch`, which must outlive the view. With an `uploader`, the view refers to a
    // copy of the batch on the GPU instead; kernels that are launched after this call may read this copy.
    explicit BatchView(const data::Batch& batch, device::GpuUploader* uploader = nullptr);
    // Makes a view without values for a ghost run: see make_ghost_batch().
    BatchView(const model::ModelConfig& model, stage::BatchShape shape);
    BatchView(const BatchView&) = delete;
    BatchView& operator=(const BatchView&) = delete;

    const model::TokenBatch& tokens() const { return view_; }
    const std::vector<std::int32_t>& targets() const { return targets_; }  // one per predicted row

private:
    stage::BatchShape shape_;
    std::vector<std::int32_t> targets_;
    model::TokenBatch view_;
    std::shared_ptr<std::byte> gpu_copy_;  // null without an uploader
};

}  // namespace trireme::rank
