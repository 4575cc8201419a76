#include "trireme/comm/collectives.hpp"

#include <algorithm>
#include <array>

#include "comm/peers.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::comm {
namespace {

// Returns the row of `peer` in a tensor that has one row per other rank, in rank order.
std::size_t find_received_row(const Communicator& group, int peer) {
    return static_cast<std::size_t>(peer < group.rank() ? peer : peer - 1);
}

device::Tensor select_received_row(const Communicator& group, device::Tensor received, int peer) {
    return received.row_range(find_received_row(group, peer), 1);
}

// Adds the values of all ranks in rank order: `own` (1, n) and the rows of `received` (ranks - 1, n or more).
// The sum replaces `own`. No-op for a ghost group, which receives no values.
void add_in_rank_order(const Communicator& group, device::Tensor own, device::ConstTensor received) {
    if (group.is_ghost()) return;
    const std::size_t peers = static_cast<std::size_t>(group.size()) - 1;
    sum_in_order(own, static_cast<std::size_t>(group.rank()),
                 received.row_range(0, peers).column_range(0, own.columns));
}

// Splits a vector into one block of elements per rank; in a reduce-scatter each rank sums its own block.
struct RankBlocks {
    std::size_t elements = 0;
    std::size_t ranks = 1;

    std::size_t begin(int rank) const { return elements * static_cast<std::size_t>(rank) / ranks; }
    std::size_t count(int rank) const { return begin(rank + 1) - begin(rank); }
    std::size_t max_count() const { return (elements + ranks - 1) / ranks; }
    template <class View>
    View select(const View& values, int rank) const {
        return values.column_range(begin(rank), count(rank));
    }
};

RankBlocks split_into_blocks(const Communicator& group, device::ConstTensor values) {
    return {.elements = values.size(), .ranks = static_cast<std::size_t>(group.size())};
}

// An all-to-all: sends to every other rank r the block that rank r sums. Receives this rank's block of the
// values of rank r into the row of `received` for rank r.
void exchange_blocks(Communicator& group, const RankBlocks& blocks, device::Tensor values,
                     device::Tensor received) {
    auto ids = make_id_list(group);
    for_each_peer(group, [&](int peer) {
        const device::Tensor row = select_received_row(group, received, peer);
        ids.push_back(group.start_receive(row.column_range(0, blocks.count(group.rank())), peer));
    });
    for_each_peer(group, [&](int peer) { ids.push_back(group.start_send(blocks.select(values, peer), peer)); });
    group.wait(ids);
}

// Every rank sends its block directly to every other rank. This takes the latency of one message, but needs one
// message per peer.
void all_gather_directly(Communicator& group, const RankBlocks& blocks, device::Tensor values) {
    auto ids = make_id_list(group);
    for_each_peer(group,
                  [&](int peer) { ids.push_back(group.start_receive(blocks.select(values, peer), peer)); });
    const device::Tensor own_block = blocks.select(values, group.rank());
    for_each_peer(group, [&](int peer) { ids.push_back(group.start_send(own_block, peer)); });
    group.wait(ids);
}

// Returns the blocks of `count` ranks as one or two contiguous runs of elements. The ranks begin with rank
// `first` and continue with rank 0 after the last rank.
std::vector<device::Tensor> find_runs(const RankBlocks& blocks, device::Tensor values, int first, int count) {
    const int ranks = static_cast<int>(blocks.ranks);
    const int count_before_end = std::min(count, ranks - first);
    const auto make_run = [&](int begin, int end) {
        return values.column_range(blocks.begin(begin), blocks.begin(end) - blocks.begin(begin));
    };
    std::vector<device::Tensor> runs{make_run(first, first + count_before_end)};
    if (count_before_end < count) runs.push_back(make_run(0, count - count_before_end));
    return runs;
}

// In each round, every rank r holds h blocks, sends them to rank r - h and receives h blocks from rank r + h
// (modulo the number of ranks). The round thus doubles h. The last round sends fewer blocks if fewer are
// missing. (Bruck et al., 1997)
void all_gather_by_doubling(Communicator& group, const RankBlocks& blocks, device::Tensor values) {
    const int size = group.size();
    for (int held_blocks = 1; held_blocks < size; held_blocks *= 2) {
        const int count = std::min(held_blocks, size - held_blocks);
        auto ids = make_id_list(group);
        const int source = (group.rank() + held_blocks) % size;
        const int target = (group.rank() + size - held_blocks) % size;
        for (const device::Tensor& run : find_runs(blocks, values, source, count))
            ids.push_back(group.start_receive(run, source));
        for (const device::Tensor& run : find_runs(blocks, values, group.rank(), count))
            ids.push_back(group.start_send(run, target));
        group.wait(ids);
    }
}

void all_gather_blocks(Communicator& group, const RankBlocks& blocks, device::Tensor values) {
    constexpr int max_direct_ranks = 16;  // sending up to this number of messages at once is cheap
    if (group.size() <= max_direct_ranks) return all_gather_directly(group, blocks, values);
    all_gather_by_doubling(group, blocks, values);
}

void require_row_partition(const Communicator& group, device::ConstTensor values,
                           const std::vector<layout::Range>& ranges) {
    std::size_t rows = 0;
    bool is_without_gaps = ranges.size() == static_cast<std::size_t>(group.size());
    for (const layout::Range& range : ranges) {
        is_without_gaps = is_without_gaps && range.begin == rows;
        rows += range.count;
    }
    if (!is_without_gaps || rows != values.rows)
        throw BugError(cat("the row ranges of the ", group.name(), " group (",
                           format_count(ranges.size(), "range"), " for ",
                           format_count(static_cast<std::uint64_t>(group.size()), "rank"), ") do not divide ",
                           format_count(values.rows, "row"), " in order"));
    if (!values.is_contiguous())
        throw BugError(cat("rows that the ", group.name(), " group exchanges must be contiguous"));
}

device::Tensor select_rows(device::Tensor values, const std::vector<layout::Range>& ranges, int rank) {
    const layout::Range& range = ranges[static_cast<std::size_t>(rank)];
    return values.row_range(range.begin, range.count).flattened();
}

}  // namespace

std::size_t count_all_reduce_scratch_bytes(const Communicator& group, device::ConstTensor values) {
    if (group.size() == 1) return 0;
    constexpr std::size_t alignment = 64;
    const RankBlocks blocks = split_into_blocks(group, values);
    return (blocks.ranks - 1) * blocks.max_count() * byte_size(values.dtype) + alignment;
}

void all_reduce(Communicator& group, device::Tensor values, device::Arena& scratch) {
    if (group.size() == 1) return;
    const device::ArenaScope scope(scratch);
    const device::Tensor flat = values.flattened();
    const RankBlocks blocks = split_into_blocks(group, flat);
    const device::Tensor received = scratch.tensor(values.dtype, blocks.ranks - 1, blocks.max_count());
    exchange_blocks(group, blocks, flat, received);
    add_in_rank_order(group, blocks.select(flat, group.rank()), received);
    all_gather_blocks(group, blocks, flat);
}

std::vector<double> all_gather(Communicator& group, std::span<const double> values) {
    std::vector<double> gathered(values.size() * static_cast<std::size_t>(group.size()));
    const auto own_begin = values.size() * static_cast<std::size_t>(group.rank());
    std::copy(values.begin(), values.end(), gathered.begin() + static_cast<std::ptrdiff_t>(own_begin));
    const device::Tensor all{gathered.data(), device::DType::f64, 1, gathered.size(), gathered.size()};
    all_gather_blocks(group, split_into_blocks(group, all), all);
    return gathered;
}

// Texts are sent as i32 words. All ranks send the number of words that the longest text needs.
std::vector<std::string> all_gather(Communicator& group, const std::string& text) {
    const std::array length{static_cast<double>(text.size())};
    const std::vector<double> lengths = all_gather(group, length);
    const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
    const std::size_t words = std::max<std::size_t>(1, (longest + 3) / 4);
    const auto ranks = static_cast<std::size_t>(group.size());
    std::vector<std::int32_t> letters(words * ranks);
    const auto find_text = [&](std::size_t rank) {
        return reinterpret_cast<char*>(letters.data() + rank * words);
    };
    std::copy(text.begin(), text.end(), find_text(static_cast<std::size_t>(group.rank())));
    const device::Tensor all{letters.data(), device::DType::i32, 1, letters.size(), letters.size()};
    all_gather_blocks(group, split_into_blocks(group, all), all);
    std::vector<std::string> texts(ranks);
    for (std::size_t r = 0; r < ranks; ++r) texts[r].assign(find_text(r), static_cast<std::size_t>(lengths[r]));
    return texts;
}

void barrier(Communicator& group) { all_gather(group, std::array{0.0}); }

void all_gather_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges) {
    require_row_partition(group, values, ranges);
    auto ids = make_id_list(group);
    for_each_peer(group, [&](int peer) {
        const device::Tensor rows = select_rows(values, ranges, peer);
        if (rows.is_present()) ids.push_back(group.start_receive(rows, peer));
    });
    const device::Tensor own_rows = select_rows(values, ranges, group.rank());
    for_each_peer(group, [&](int peer) {
        if (own_rows.is_present()) ids.push_back(group.start_send(own_rows, peer));
    });
    group.wait(ids);
}

void reduce_scatter_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges,
                         device::Arena& scratch) {
    require_row_partition(group, values, ranges);
    if (group.size() == 1) return;
    const device::ArenaScope scope(scratch);
    auto ids = make_id_list(group);
    const device::Tensor own_rows = select_rows(values, ranges, group.rank());
    const auto peers = static_cast<std::size_t>(group.size()) - 1;
    const device::Tensor received = scratch.tensor(values.dtype, peers, own_rows.size());
    for_each_peer(group, [&](int peer) {
        if (own_rows.is_present())
            ids.push_back(group.start_receive(select_received_row(group, received, peer), peer));
    });
    for_each_peer(group, [&](int peer) {
        const device::Tensor rows = select_rows(values, ranges, peer);
        if (rows.is_present()) ids.push_back(group.start_send(rows, peer));
    });
    group.wait(ids);
    add_in_rank_order(group, own_rows, received);
}

}  // namespace trireme::comm
