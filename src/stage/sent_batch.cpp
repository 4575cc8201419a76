#include "trireme/stage/sent_batch.hpp"

#include <array>
#include <vector>

namespace trireme {

// All in one go.
SentBatch send(const TokenBatch& batch, ByteSender& sender) {
    constexpr std::size_t alignment = 256;  // bytes
    TokenBatch sent = batch;
    const std::array<ConstTensor*, 9> tensors{&sent.tokens,  &sent.positions, &sent.types,
                                              &sent.visits,  &sent.predicted, &sent.targets,
                                              &sent.answers, &sent.contexts,  &sent.pixels};
    std::vector<std::byte> bytes;
    std::vector<std::size_t> offsets;
    for (const ConstTensor* const tensor : tensors) {
        offsets.push_back(bytes.size());
        const auto* const first = static_cast<const std::byte*>(tensor->data);
        bytes.insert(bytes.end(), first, first + tensor->bytes());
        bytes.resize((bytes.size() + alignment - 1) / alignment * alignment);
    }
    std::shared_ptr<std::byte> memory = sender.send(bytes);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        tensors[i]->data = memory.get() + offsets[i];
        tensors[i]->place = Place::gpu;
    }
    return {.batch = sent, .memory = std::move(memory)};
}

}  // namespace trireme
