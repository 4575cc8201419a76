#include "trireme/device/byte_sender.hpp"

#include <bit>
#include <cstring>
#include <map>
#include <vector>

namespace trireme::device {

// Pool of blocks of the usual size and of larger powers of two. Sizes change with every batch, and a few block
// sizes serve them all.
struct ByteSender::Pool {
    struct Block {
        explicit Block(std::size_t bytes) : pinned(take_pinned_memory(bytes)), gpu(take_gpu_memory(bytes)) {}
        ~Block() {
            give_back_pinned_memory(pinned);
            give_back_gpu_memory(gpu);
        }
        Block(const Block&) = delete;
        Block& operator=(const Block&) = delete;

        std::byte* pinned;
        std::byte* gpu;
        GpuMoment sent = {};
    };

    std::unique_ptr<Block> take(std::size_t bytes) {
        std::vector<std::unique_ptr<Block>>& of_size = free[bytes];
        if (of_size.empty()) return std::make_unique<Block>(bytes);
        std::unique_ptr<Block> block = std::move(of_size.back());
        of_size.pop_back();
        return block;
    }

    std::size_t size_for(std::size_t bytes) const {
        return bytes <= usual_bytes ? usual_bytes : std::bit_ceil(bytes);
    }

    GpuQueue* queue = nullptr;
    std::size_t usual_bytes = 0;
    std::map<std::size_t, std::vector<std::unique_ptr<Block>>> free = {};
};

// A block that returns to its pool in the destructor.
struct ByteSender::Loan {
    ~Loan() { pool->free[bytes].push_back(std::move(block)); }

    std::shared_ptr<Pool> pool;
    std::size_t bytes;
    std::unique_ptr<Pool::Block> block;
};

ByteSender::ByteSender(GpuQueue& queue, std::size_t block_bytes, std::size_t blocks)
    : pool_(std::make_shared<Pool>()) {
    pool_->queue = &queue;
    pool_->usual_bytes = block_bytes;
    std::vector<std::unique_ptr<Pool::Block>>& usual = pool_->free[pool_->usual_bytes];
    while (usual.size() < blocks) usual.push_back(std::make_unique<Pool::Block>(pool_->usual_bytes));
}
ByteSender::~ByteSender() = default;

// A block may be reused while queued work still reads its GPU memory: the copy that overwrites it comes later
// in the queue. Only the pinned memory must have been sent.
std::shared_ptr<std::byte> ByteSender::send(std::span<const std::byte> bytes) {
    const std::size_t size = pool_->size_for(bytes.size());
    const auto loan = std::make_shared<Loan>(pool_, size, pool_->take(size));
    Pool::Block& block = *loan->block;
    pool_->queue->wait_until_over(block.sent);
    std::memcpy(block.pinned, bytes.data(), bytes.size());
    pool_->queue->copy(block.gpu, block.pinned, bytes.size());
    pool_->queue->mark(block.sent);
    return {loan, block.gpu};
}

}  // namespace trireme::device
