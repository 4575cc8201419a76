#include "checkpoint/block_reads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <tuple>

#include "checkpoint/part_reader.hpp"
#include "trireme/base/sha256.hpp"
#include "trireme/device/worker.hpp"

namespace trireme::checkpoint {
namespace {

constexpr std::size_t max_blocks_at_once = 16;  // per thread: blocks read, then hashed together

class BlockReads {
public:
    BlockReads(std::vector<BlockRead> reads, std::size_t threads)
        : reads_(std::move(reads)),
          blocks_at_once_(std::clamp<std::size_t>(reads_.size() / (2 * threads), 1, max_blocks_at_once)) {
        std::ranges::sort(reads_, [](const BlockRead& a, const BlockRead& b) {
            return std::tie(a.part, a.offset) < std::tie(b.part, b.offset);
        });
    }

    // Processes blocks that no thread has begun, until there are none left. Several threads call this function
    // at once. If the call of one thread throws, the calls of the other threads return after their current
    // blocks.
    void process_blocks() {
        std::vector<std::vector<std::byte>> memory(blocks_at_once_);
        try {
            for (std::size_t first = next_block_.fetch_add(blocks_at_once_); first < reads_.size();
                 first = next_block_.fetch_add(blocks_at_once_))
                process(std::span(reads_).subspan(first, std::min(blocks_at_once_, reads_.size() - first)),
                        memory);
        } catch (...) {
            next_block_ = reads_.size();
            throw;
        }
    }

private:
    static void process(std::span<const BlockRead> reads, std::vector<std::vector<std::byte>>& memory) {
        std::vector<std::span<const std::byte>> blocks;
        for (std::size_t r = 0; r < reads.size(); ++r) {
            if (memory[r].size() < reads[r].bytes) memory[r] = std::vector<std::byte>(reads[r].bytes);
            blocks.push_back(std::span(memory[r]).first(reads[r].bytes));
            reads[r].part->read_block(reads[r], std::span(memory[r]).first(reads[r].bytes));
        }
        const std::vector<std::string> checksums = Sha256::hash_each(blocks);
        for (std::size_t r = 0; r < reads.size(); ++r) {
            reads[r].part->check_block(reads[r], checksums[r]);
            (*reads[r].use)({.box = reads[r].requested_box,
                             .first = blocks[r].data() + reads[r].first,
                             .stride = reads[r].stride});
        }
    }

    std::vector<BlockRead> reads_;
    std::size_t blocks_at_once_;               // blocks per call of process()
    std::atomic<std::size_t> next_block_ = 0;  // index of the first read that no thread has begun
};

}  // namespace

void read_blocks(std::vector<BlockRead> reads, int threads) {
    if (reads.empty()) return;
    const std::size_t thread_count = std::min(static_cast<std::size_t>(std::max(threads, 2)), reads.size());
    BlockReads blocks(std::move(reads), thread_count);
    std::vector<device::Worker> workers(thread_count - 1);  // destroyed before `blocks`, which they use
    std::vector<device::Worker::JobId> jobs;
    for (device::Worker& worker : workers) jobs.push_back(worker.start([&blocks] { blocks.process_blocks(); }));
    blocks.process_blocks();
    for (std::size_t w = 0; w < workers.size(); ++w) workers[w].wait_for(jobs[w]);
}

}  // namespace trireme::checkpoint
