// A micro-batch on the GPU.
#pragma once

#include <memory>

#include "trireme/device/byte_sender.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

struct SentBatch {
    TokenBatch batch;  // its segments stay where they are
    std::shared_ptr<std::byte> memory;
};

// For kernels that the sender's queue is given from here on. `batch` is in the machine's memory.
SentBatch send(const TokenBatch& batch, ByteSender& sender);

}  // namespace trireme
