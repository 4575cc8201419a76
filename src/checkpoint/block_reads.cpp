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

constexpr std::uint64_t bytes_ahead = std::uint64_t{16} << 20;  // that the system fetches meanwhile

class BlockReads {
public:
    explicit BlockReads(std::vector<BlockRead> reads) : reads_(std::move(reads)) {
        std::ranges::sort(reads_, [](const BlockRead& a, const BlockRead& b) {
            return std::tie(a.part, a.offset) < std::tie(b.part, b.offset);
        });
        std::uint64_t bytes = 0;
        for (const BlockRead& read : reads_) ends_.push_back(bytes += read.bytes);
    }

    // What no other thread has taken. Each stops where one of them has failed.
    void work() {
        std::vector<std::byte> bytes;
        try {
            for (std::size_t number = taken_++; number < reads_.size(); number = taken_++) {
                expect_behind(number);
                reads_[number].part->carry_out(reads_[number], bytes);
            }
        } catch (...) {
            taken_ = reads_.size();
            throw;
        }
    }

private:
    // Those that come within reach with this one.
    void expect_behind(std::size_t number) const {
        const std::uint64_t begin = number == 0 ? 0 : ends_[number - 1] + bytes_ahead;
        const std::uint64_t end = ends_[number] + bytes_ahead;
        for (auto at = std::ranges::upper_bound(ends_, begin); at != ends_.end() && *at <= end; ++at)
            reads_[static_cast<std::size_t>(at - ends_.begin())].part->expect(
                reads_[static_cast<std::size_t>(at - ends_.begin())]);
    }

    std::vector<BlockRead> reads_;
    std::vector<std::uint64_t> ends_;  // bytes up to the end of each
    std::atomic<std::size_t> taken_ = 0;
};

}  // namespace

void carry_out(std::vector<BlockRead> reads, int threads) {
    const std::size_t others = std::min<std::size_t>(
        static_cast<std::size_t>(std::max(threads, 2)) - 1, reads.empty() ? 0 : reads.size() - 1);
    BlockReads all(std::move(reads));
    std::vector<Worker> workers(others);  // which end before what they work at
    std::vector<Worker::Job> jobs;
    for (Worker& worker : workers) jobs.push_back(worker.start([&all] { all.work(); }));
    all.work();
    for (std::size_t w = 0; w < others; ++w) workers[w].finish(jobs[w]);
}

}  // namespace trireme
