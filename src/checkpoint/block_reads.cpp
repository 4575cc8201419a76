#include "checkpoint/block_reads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <tuple>

#include "checkpoint/part_reader.hpp"
#include "trireme/device/worker.hpp"

namespace trireme {
namespace {

class BlockReads {
public:
    explicit BlockReads(std::vector<BlockRead> reads) : reads_(std::move(reads)) {
        std::ranges::sort(reads_, [](const BlockRead& a, const BlockRead& b) {
            return std::tie(a.part, a.offset) < std::tie(b.part, b.offset);
        });
    }

    // What no other thread has taken. Each stops where one of them has failed.
    void work() {
        std::vector<std::byte> bytes;
        try {
            for (std::size_t number = taken_++; number < reads_.size(); number = taken_++) {
                reads_[number].part->carry_out(reads_[number], bytes);
            }
        } catch (...) {
            taken_ = reads_.size();
            throw;
        }
    }

private:
    std::vector<BlockRead> reads_;
    std::atomic<std::size_t> taken_ = 0;
};

}  // namespace

void carry_out(std::vector<BlockRead> reads, int threads) {
    const std::size_t others = std::min<std::size_t>(static_cast<std::size_t>(std::max(threads, 2)) - 1,
                                                     reads.empty() ? 0 : reads.size() - 1);
    BlockReads all(std::move(reads));
    std::vector<Worker> workers(others);  // which end before what they work at
    std::vector<Worker::Job> jobs;
    for (Worker& worker : workers) jobs.push_back(worker.start([&all] { all.work(); }));
    all.work();
    for (std::size_t w = 0; w < others; ++w) workers[w].finish(jobs[w]);
}

}  // namespace trireme
