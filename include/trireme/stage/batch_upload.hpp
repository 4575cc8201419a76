// Copies a micro-batch to the GPU.
#pragma once

#include <memory>

#include "trireme/device/gpu_uploader.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::stage {

struct UploadedBatch {
    model::TokenBatch batch;            // its tensors are in `memory`; its segments belong to the source batch
    std::shared_ptr<std::byte> memory;  // GPU memory
};

// Returns the bytes of GPU memory that upload() needs for the tensors of `batch`.
std::size_t count_upload_bytes(const model::TokenBatch& batch);

// Copies the tensors of `batch` from host memory to the GPU. Kernels that are launched on the queue of
// `uploader` after the call may read the result. The segments of `batch` must outlive the result.
UploadedBatch upload(const model::TokenBatch& batch, device::GpuUploader& uploader);

}  // namespace trireme::stage
