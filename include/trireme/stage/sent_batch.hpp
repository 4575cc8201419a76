// Copies a micro-batch to the GPU.
#pragma once

#include <memory>

#include "trireme/device/byte_sender.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::stage {

struct SentBatch {
    model::TokenBatch batch;  // tensors in `memory`; the segments stay in host memory
    std::shared_ptr<std::byte> memory;
};

// Returns the bytes that the batch takes on the GPU.
std::size_t bytes_to_send(const model::TokenBatch& batch);

// Copies `batch` from host memory. Kernels that are queued on the sender's queue afterwards may use the result.
SentBatch send(const model::TokenBatch& batch, device::ByteSender& sender);

}  // namespace trireme::stage
