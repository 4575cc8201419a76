// A micro-batch on the GPU.
#pragma once

#include <memory>

#include "trireme/device/byte_sender.hpp"
#include "trireme/model/layer.hpp"

namespace trireme::stage {

struct SentBatch {
    model::TokenBatch batch;  // its segments stay where they are
    std::shared_ptr<std::byte> memory;
};

// What that takes there.
std::size_t bytes_to_send(const model::TokenBatch& batch);

// For kernels that the sender's queue is given from here on. `batch` is in the machine's memory.
SentBatch send(const model::TokenBatch& batch, device::ByteSender& sender);

}  // namespace trireme::stage
