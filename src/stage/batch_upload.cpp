#include "trireme/stage/batch_upload.hpp"

#include <array>
#include <vector>

namespace trireme::stage {
namespace {

constexpr std::size_t alignment = 256;  // bytes

std::size_t align(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

template <class Batch>
auto list_tensors(Batch& batch) {
    return std::array{&batch.tokens,  &batch.positions, &batch.types,    &batch.visits, &batch.predicted_rows,
                      &batch.targets, &batch.answers,   &batch.contexts, &batch.pixels};
}

}  // namespace

std::size_t count_upload_bytes(const model::TokenBatch& batch) {
    std::size_t bytes = 0;
    for (const device::ConstTensor* const tensor : list_tensors(batch)) bytes += align(tensor->bytes());
    return bytes;
}

// Packs all tensors into one transfer.
UploadedBatch upload(const model::TokenBatch& batch, device::GpuUploader& uploader) {
    model::TokenBatch uploaded = batch;
    std::vector<std::byte> bytes;
    bytes.reserve(count_upload_bytes(batch));
    std::vector<std::size_t> offsets;
    for (const device::ConstTensor* const tensor : list_tensors(uploaded)) {
        offsets.push_back(bytes.size());
        const auto* const first = static_cast<const std::byte*>(tensor->data);
        bytes.insert(bytes.end(), first, first + tensor->bytes());
        bytes.resize(align(bytes.size()));
    }
    std::shared_ptr<std::byte> memory = uploader.upload(bytes);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        device::ConstTensor& tensor = *list_tensors(uploaded)[i];
        tensor.data = memory.get() + offsets[i];
        tensor.memory_space = device::MemorySpace::gpu;
    }
    return {.batch = uploaded, .memory = std::move(memory)};
}

}  // namespace trireme::stage
