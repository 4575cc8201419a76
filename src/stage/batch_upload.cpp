#include "trireme/stage/batch_upload.hpp"

#include <array>
#include <vector>

namespace trireme::stage {
namespace {

constexpr std::size_t alignment_bytes = 256;  // of each tensor in GPU memory

std::size_t round_up_to_alignment(std::size_t bytes) {
    return (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
}

template <class Batch>
auto list_tensors(Batch& batch) {
    return std::array{&batch.tokens,  &batch.positions, &batch.types,    &batch.visits, &batch.predicted_rows,
                      &batch.targets, &batch.answers,   &batch.contexts, &batch.pixels};
}

}  // namespace

std::size_t count_upload_bytes(const model::TokenBatch& batch) {
    std::size_t bytes = 0;
    for (const device::ConstTensor* const tensor : list_tensors(batch))
        bytes += round_up_to_alignment(tensor->bytes());
    return bytes;
}

// Packs all tensors into one buffer, so that a single copy moves them from host to GPU.
UploadedBatch upload(const model::TokenBatch& batch, device::GpuUploader& uploader) {
    model::TokenBatch uploaded = batch;
    std::vector<std::byte> packed;
    packed.reserve(count_upload_bytes(batch));
    std::vector<std::size_t> offsets;
    for (const device::ConstTensor* const tensor : list_tensors(uploaded)) {
        offsets.push_back(packed.size());
        const auto* const data = static_cast<const std::byte*>(tensor->data);
        packed.insert(packed.end(), data, data + tensor->bytes());
        packed.resize(round_up_to_alignment(packed.size()));
    }
    std::shared_ptr<std::byte> memory = uploader.upload(packed);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        device::ConstTensor& tensor = *list_tensors(uploaded)[i];
        tensor.data = memory.get() + offsets[i];
        tensor.memory_space = device::MemorySpace::gpu;
    }
    return {.batch = uploaded, .memory = std::move(memory)};
}

}  // namespace trireme::stage
