#include "trireme/comm/collectives.hpp"

#include <algorithm>
#include <array>

#include "comm/peers.hpp"
#include "trireme/comm/communicator.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::comm {
namespace {

std::size_t row_of(const Communicator& group, int peer) {
    return static_cast<std::size_t>(peer < group.rank() ? peer : peer - 1);
}

// `received` has one row per rank other than this one, in rank order. Returns the row of `peer`.
device::Tensor received_from(const Communicator& group, device::Tensor received, int peer) {
    return received.row_range(row_of(group, peer), 1);
}

// Computes own = sum over all ranks, in rank order. `own` is (1, n), `received` (ranks - 1, n or more). No-op
// for a ghost group, which receives no values.
void add_in_rank_order(const Communicator& group, device::Tensor own, device::ConstTensor received) {
    if (group.is_ghost()) return;
    const std::size_t peers = static_cast<std::size_t>(group.size()) - 1;
    sum_in_order(own, static_cast<std::size_t>(group.rank()),
                 received.row_range(0, peers).column_range(0, own.columns));
}

// Splits a vector into one piece per rank; each rank sums its own piece.
struct Pieces {
    std::size_t elements = 0;
    std::size_t ranks = 1;

    std::size_t begin(int rank) const { return elements * static_cast<std::size_t>(rank) / ranks; }
    std::size_t count(int rank) const { return begin(rank + 1) - begin(rank); }
    std::size_t largest() const { return (elements + ranks - 1) / ranks; }
    template <class View>
    View of(const View& values, int rank) const {
        return values.column_range(begin(rank), count(rank));
    }
};

Pieces pieces_of(const Communicator& group, device::ConstTensor values) {
    return {.elements = values.size(), .ranks = static_cast<std::size_t>(group.size())};
}

void exchange_pieces(Communicator& group, const Pieces& pieces, device::Tensor values,
                     device::Tensor received) {
    auto tickets = room_for_tickets(group);
    for_each_peer(group, [&](int peer) {
        const device::Tensor row = received_from(group, received, peer);
        tickets.push_back(group.start_receive(row.column_range(0, pieces.count(group.rank())), peer));
    });
    for_each_peer(group, [&](int peer) { tickets.push_back(group.start_send(pieces.of(values, peer), peer)); });
    group.wait(tickets);
}

// Every rank sends its piece to every other one: the latency of one message, but one message per peer.
void gather_at_once(Communicator& group, const Pieces& pieces, device::Tensor values) {
    auto tickets = room_for_tickets(group);
    for_each_peer(group,
                  [&](int peer) { tickets.push_back(group.start_receive(pieces.of(values, peer), peer)); });
    const device::Tensor own = pieces.of(values, group.rank());
    for_each_peer(group, [&](int peer) { tickets.push_back(group.start_send(own, peer)); });
    group.wait(tickets);
}

// Returns the pieces of `count` ranks from `first` on, wrapping
// around after the last rank, as one or two runs of elements.
std::vector<device::Tensor> runs_of(const Pieces& pieces, device::Tensor values, int first, int count) {
    const int ranks = static_cast<int>(pieces.ranks);
    const int before_end = std::min(count, ranks - first);
    const auto run = [&](int begin, int end) {
        return values.column_range(pieces.begin(begin), pieces.begin(end) - pieces.begin(begin));
    };
    std::vector<device::Tensor> runs{run(first, first + before_end)};
    if (before_end < count) runs.push_back(run(0, count - before_end));
    return runs;
}

// Each round doubles the number of pieces h that a rank holds: it sends them to rank - h, and receives as many
// from rank + h. (Bruck et al., 1997)
void gather_by_doubling(Communicator& group, const Pieces& pieces, device::Tensor values) {
    const int size = group.size();
    for (int held = 1; held < size; held *= 2) {
        const int count = std::min(held, size - held);
        auto tickets = room_for_tickets(group);
        const int source = (group.rank() + held) % size;
        const int target = (group.rank() + size - held) % size;
        for (const device::Tensor& run : runs_of(pieces, values, source, count))
            tickets.push_back(group.start_receive(run, source));
        for (const device::Tensor& run : runs_of(pieces, values, group.rank(), count))
            tickets.push_back(group.start_send(run, target));
        group.wait(tickets);
    }
}

void gather_pieces(Communicator& group, const Pieces& pieces, device::Tensor values) {
    constexpr int few = 16;  // ranks; up to this number of messages at once is cheap
    if (group.size() <= few) return gather_at_once(group, pieces, values);
    gather_by_doubling(group, pieces, values);
}

void check(const Communicator& group, device::ConstTensor values, const std::vector<layout::Range>& ranges) {
    std::size_t rows = 0;
    bool is_without_gaps = ranges.size() == static_cast<std::size_t>(group.size());
    for (const layout::Range& range : ranges) {
        is_without_gaps = is_without_gaps && range.begin == rows;
        rows += range.count;
    }
    if (!is_without_gaps || rows != values.rows)
        throw BugError(cat("the ", group.name(), " group of ", group.size(), " ranks got ", ranges.size(),
                           " ranges that do not cut ", values.rows, " rows in order"));
    if (!values.is_contiguous())
        throw BugError(cat("rows that the ", group.name(), " group exchanges must be contiguous"));
}

device::Tensor rows_of(device::Tensor values, const std::vector<layout::Range>& ranges, int rank) {
    const layout::Range& range = ranges[static_cast<std::size_t>(rank)];
    return values.row_range(range.begin, range.count).flattened();
}

}  // namespace

std::size_t sum_scratch_bytes(const Communicator& group, device::ConstTensor values) {
    if (group.size() == 1) return 0;
    constexpr std::size_t alignment = 64;
    const Pieces pieces = pieces_of(group, values);
    return (pieces.ranks - 1) * pieces.largest() * bytes_of(values.dtype) + alignment;
}

void sum_in_rank_order(Communicator& group, device::Tensor values, device::Arena& scratch) {
    if (group.size() == 1) return;
    const device::ArenaScope scope(scratch);
    const device::Tensor flat = values.flattened();
    const Pieces pieces = pieces_of(group, flat);
    const device::Tensor received = scratch.tensor(values.dtype, pieces.ranks - 1, pieces.largest());
    exchange_pieces(group, pieces, flat, received);
    add_in_rank_order(group, pieces.of(flat, group.rank()), received);
    gather_pieces(group, pieces, flat);
}

std::vector<double> gather_all(Communicator& group, std::span<const double> values) {
    std::vector<double> gathered(values.size() * static_cast<std::size_t>(group.size()));
    const auto own = values.size() * static_cast<std::size_t>(group.rank());
    std::copy(values.begin(), values.end(), gathered.begin() + static_cast<std::ptrdiff_t>(own));
    const device::Tensor all{gathered.data(), device::DType::f64, 1, gathered.size(), gathered.size()};
    gather_pieces(group, pieces_of(group, all), all);
    return gathered;
}

// Texts are sent as i32 words. All ranks use the number of words that the longest text needs.
std::vector<std::string> gather_all(Communicator& group, const std::string& text) {
    const std::array length{static_cast<double>(text.size())};
    const std::vector<double> lengths = gather_all(group, length);
    const auto longest = static_cast<std::size_t>(*std::max_element(lengths.begin(), lengths.end()));
    const std::size_t words = std::max<std::size_t>(1, (longest + 3) / 4);
    const auto ranks = static_cast<std::size_t>(group.size());
    std::vector<std::int32_t> letters(words * ranks);
    const auto to_string = [&](std::size_t rank) {
        return reinterpret_cast<char*>(letters.data() + rank * words);
    };
    std::copy(text.begin(), text.end(), to_string(static_cast<std::size_t>(group.rank())));
    const device::Tensor all{letters.data(), device::DType::i32, 1, letters.size(), letters.size()};
    gather_pieces(group, pieces_of(group, all), all);
    std::vector<std::string> texts(ranks);
    for (std::size_t r = 0; r < ranks; ++r) texts[r].assign(to_string(r), static_cast<std::size_t>(lengths[r]));
    return texts;
}

void barrier(Communicator& group) { gather_all(group, std::array{0.0}); }

void gather_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges) {
    check(group, values, ranges);
    auto tickets = room_for_tickets(group);
    for_each_peer(group, [&](int peer) {
        const device::Tensor rows = rows_of(values, ranges, peer);
        if (rows.is_present()) tickets.push_back(group.start_receive(rows, peer));
    });
    const device::Tensor own = rows_of(values, ranges, group.rank());
    for_each_peer(group, [&](int peer) {
        if (own.is_present()) tickets.push_back(group.start_send(own, peer));
    });
    group.wait(tickets);
}

void sum_rows(Communicator& group, device::Tensor values, const std::vector<layout::Range>& ranges,
              device::Arena& scratch) {
    check(group, values, ranges);
    if (group.size() == 1) return;
    const device::ArenaScope scope(scratch);
    auto tickets = room_for_tickets(group);
    const device::Tensor own = rows_of(values, ranges, group.rank());
    const auto peers = static_cast<std::size_t>(group.size()) - 1;
    const device::Tensor received = scratch.tensor(values.dtype, peers, own.size());
    for_each_peer(group, [&](int peer) {
        if (own.is_present())
            tickets.push_back(group.start_receive(received_from(group, received, peer), peer));
    });
    for_each_peer(group, [&](int peer) {
        const device::Tensor rows = rows_of(values, ranges, peer);
        if (rows.is_present()) tickets.push_back(group.start_send(rows, peer));
    });
    group.wait(tickets);
    add_in_rank_order(group, own, received);
}

}  // namespace trireme::comm
