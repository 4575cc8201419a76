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

constexpr std::size_t most_at_once = 16;  // blocks that a thread reads and hashes together

class BlockReads {
public:
    BlockReads(std::vector<BlockRead> reads, std::size_t threads)
        : reads_(std::move(reads)),
          at_once_(std::clamp<std::size_t>(reads_.size() / (2 * threads), 1, most_at_once)) {
        std::ranges::sort(reads_, [](const BlockRead& a, const BlockRead& b) {
            return std::tie(a.part, a.offset) < std::tie(b.part, b.offset);
        });
    }

    // Processes blocks that no other thread has taken. If a thread fails, the others stop after their current
    // blocks.
    void work() {
        std::vector<std::vector<std::byte>> memory(at_once_);
        try {
            for (std::size_t first = taken_.fetch_add(at_once_); first < reads_.size();
                 first = taken_.fetch_add(at_once_))
                carry_out(std::span(reads_).subspan(first, std::min(at_once_, reads_.size() - first)), memory);
        } catch (...) {
            taken_ = reads_.size();
            throw;
        }
    }

private:
    static void carry_out(std::span<const BlockRead> reads, std::vector<std::vector<std::byte>>& memory) {
        std::vector<std::span<const std::byte>> blocks;
        for (std::size_t r = 0; r < reads.size(); ++r) {
            if (memory[r].size() < reads[r].bytes) memory[r] = std::vector<std::byte>(reads[r].bytes);
            blocks.push_back(std::span(memory[r]).first(reads[r].bytes));
            reads[r].part->read(reads[r], std::span(memory[r]).first(reads[r].bytes));
        }
        const std::vector<std::string> sums = Sha256::hex_of_each(blocks);
        for (std::size_t r = 0; r < reads.size(); ++r) {
            reads[r].part->check(reads[r], sums[r]);
            (*reads[r].use)({.box = reads[r].wanted,
                             .first = blocks[r].data() + reads[r].first,
                             .stride = reads[r].stride});
        }
    }

    std::vector<BlockRead> reads_;
    std::size_t at_once_;
    std::atomic<std::size_t> taken_ = 0;
};

}  // namespace

void carry_out(std::vector<BlockRead> reads, int threads) {
    if (reads.empty()) return;
    const std::size_t all = std::min(static_cast<std::size_t>(std::max(threads, 2)), reads.size());
    BlockReads blocks(std::move(reads), all);
    std::vector<device::Worker> workers(all - 1);  // destroyed before `blocks`
    std::vector<device::Worker::Job> jobs;
    for (device::Worker& worker : workers) jobs.push_back(worker.start([&blocks] { blocks.work(); }));
    blocks.work();
    for (std::size_t w = 0; w < workers.size(); ++w) workers[w].finish(jobs[w]);
}

}  // namespace trireme::checkpoint
