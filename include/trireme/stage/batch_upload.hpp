// Copies a micro-batch to the GPU.
#pragma once

#include <memory>

#include "trireme/device/gpu_uploader.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::stage {

struct UploadedBatch {
    model::TokenBatch batch;  // its tensors are in `memory`; its segments stay in host memory
    std::shared_ptr<std::byte> memory;
};

// Returns the bytes of GPU memory that the tensors of the batch take.
std::size_t count_upload_bytes(const model::TokenBatch& batch);

// Copies `batch` from host memory. Kernels that are launched on the queue of `uploader` afterwards may read the
// result.
UploadedBatch upload(const model::TokenBatch& batch, device::GpuUploader& uploader);

}  // namespace trireme::stage
