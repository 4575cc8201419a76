#include "trireme/stage/sent_batch.hpp"

#include <array>
#include <vector>

namespace trireme::stage {
namespace {

constexpr std::size_t alignment = 256;  // bytes

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

template <class Batch>
auto tensors_of(Batch& batch) {
    return std::array{&batch.tokens,  &batch.positions, &batch.types,    &batch.visits, &batch.predicted,
                      &batch.targets, &batch.answers,   &batch.contexts, &batch.pixels};
}

}  // namespace

std::size_t bytes_to_send(const model::TokenBatch& batch) {
    std::size_t bytes = 0;
    for (const device::ConstTensor* const tensor : tensors_of(batch)) bytes += aligned(tensor->bytes());
    return bytes;
}

// Packs all tensors into one transfer.
SentBatch send(const model::TokenBatch& batch, device::ByteSender& sender) {
    model::TokenBatch sent = batch;
    std::vector<std::byte> bytes;
    bytes.reserve(bytes_to_send(batch));
    std::vector<std::size_t> offsets;
    for (const device::ConstTensor* const tensor : tensors_of(sent)) {
        offsets.push_back(bytes.size());
        const auto* const first = static_cast<const std::byte*>(tensor->data);
        bytes.insert(bytes.end(), first, first + tensor->bytes());
        bytes.resize(aligned(bytes.size()));
    }
    std::shared_ptr<std::byte> memory = sender.send(bytes);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        device::ConstTensor& tensor = *tensors_of(sent)[i];
        tensor.data = memory.get() + offsets[i];
        tensor.place = device::MemorySpace::gpu;
    }
    return {.batch = sent, .memory = std::move(memory)};
}

}  // namespace trireme::stage
