#include "trireme/device/gpu_uploader.hpp"

#include <bit>
#include <cstring>
#include <map>
#include <vector>

namespace trireme::device {

// A pool of blocks of min_block_bytes and of larger powers of two. The sizes of uploads change with every
// batch, and a few block sizes serve all of them.
struct GpuUploader::Pool {
    struct Block {
        explicit Block(std::size_t bytes)
            : pinned(allocate_pinned_memory(bytes)), gpu(allocate_gpu_memory(bytes)) {}
        ~Block() {
            free_pinned_memory(pinned);
            free_gpu_memory(gpu);
        }
        Block(const Block&) = delete;
        Block& operator=(const Block&) = delete;

        std::byte* pinned;
        std::byte* gpu;
        GpuEvent copy_end = {};
    };

    std::unique_ptr<Block> take(std::size_t bytes) {
        std::vector<std::unique_ptr<Block>>& free_of_size = free_blocks[bytes];
        if (free_of_size.empty()) return std::make_unique<Block>(bytes);
        std::unique_ptr<Block> block = std::move(free_of_size.back());
        free_of_size.pop_back();
        return block;
    }

    std::size_t round_up_size(std::size_t bytes) const {
        return bytes <= min_block_bytes ? min_block_bytes : std::bit_ceil(bytes);
    }

    GpuQueue* queue = nullptr;
    std::size_t min_block_bytes = 0;
    std::map<std::size_t, std::vector<std::unique_ptr<Block>>> free_blocks = {};  // by block size in bytes
};

// A block that returns to its pool in the destructor.
struct GpuUploader::BorrowedBlock {
    ~BorrowedBlock() { pool->free_blocks[bytes].push_back(std::move(block)); }

    std::shared_ptr<Pool> pool;
    std::size_t bytes;
    std::unique_ptr<Pool::Block> block;
};

GpuUploader::GpuUploader(GpuQueue& queue, std::size_t block_bytes, std::size_t blocks)
    : pool_(std::make_shared<Pool>()) {
    pool_->queue = &queue;
    pool_->min_block_bytes = block_bytes;
    std::vector<std::unique_ptr<Pool::Block>>& min_size_blocks = pool_->free_blocks[pool_->min_block_bytes];
    while (min_size_blocks.size() < blocks)
        min_size_blocks.push_back(std::make_unique<Pool::Block>(pool_->min_block_bytes));
}
GpuUploader::~GpuUploader() = default;

// A block may be reused while queued work still reads its GPU memory, because the copy that overwrites this
// memory comes later in the queue. Only the previous copy from the block's pinned memory must have ended,
// because the CPU overwrites that memory at once.
std::shared_ptr<std::byte> GpuUploader::upload(std::span<const std::byte> bytes) {
    const std::size_t block_bytes = pool_->round_up_size(bytes.size());
    const auto borrowed = std::make_shared<BorrowedBlock>(pool_, block_bytes, pool_->take(block_bytes));
    Pool::Block& block = *borrowed->block;
    pool_->queue->wait_until_over(block.copy_end);
    std::memcpy(block.pinned, bytes.data(), bytes.size());
    pool_->queue->copy(block.gpu, block.pinned, bytes.size());
    pool_->queue->mark(block.copy_end);
    return {borrowed, block.gpu};
}

}  // namespace trireme::device
