#include "trireme/comm/row_collectives.hpp"

#include "comm/peers.hpp"
#include "comm/rank_order_sum.hpp"

namespace trireme {
namespace {

void check(const Communicator& group, ConstTensor values, const std::vector<Range>& ranges) {
    std::size_t rows = 0;
    bool is_without_gaps = ranges.size() == static_cast<std::size_t>(group.size());
    for (const Range& range : ranges) {
        is_without_gaps = is_without_gaps && range.begin == rows;
        rows += range.count;
    }
    if (!is_without_gaps || rows != values.rows)
        throw BugError(cat("the ", group.name(), " group of ", group.size(), " ranks got ", ranges.size(),
                           " ranges that do not cut ", values.rows, " rows in order"));
    if (!values.is_contiguous())
        throw BugError(cat("rows that the ", group.name(), " group exchanges must be contiguous"));
}

Tensor rows_of(Tensor values, const std::vector<Range>& ranges, int rank) {
    const Range& range = ranges[static_cast<std::size_t>(rank)];
    return values.row_range(range.begin, range.count).flattened();
}

}  // namespace

void gather_rows(Communicator& group, Tensor values, const std::vector<Range>& ranges) {
    check(group, values, ranges);
    auto tickets = room_for_tickets(group);
    for_each_peer(group, [&](int peer) {
        const Tensor rows = rows_of(values, ranges, peer);
        if (rows.is_present()) tickets.push_back(group.start_receive(rows, peer));
    });
    const Tensor own = rows_of(values, ranges, group.rank());
    for_each_peer(group, [&](int peer) {
        if (own.is_present()) tickets.push_back(group.start_send(own, peer));
    });
    group.wait(tickets);
}

void sum_rows(Communicator& group, Tensor values, const std::vector<Range>& ranges, Arena& scratch) {
    check(group, values, ranges);
    if (group.size() == 1) return;
    const ArenaScope scope(scratch);
    auto tickets = room_for_tickets(group);
    const Tensor own = rows_of(values, ranges, group.rank());
    const auto peers = static_cast<std::size_t>(group.size()) - 1;
    const Tensor received = scratch.tensor(values.dtype, peers, own.size());
    for_each_peer(group, [&](int peer) {
        if (own.is_present())
            tickets.push_back(group.start_receive(received_from(group, received, peer), peer));
    });
    for_each_peer(group, [&](int peer) {
        const Tensor rows = rows_of(values, ranges, peer);
        if (rows.is_present()) tickets.push_back(group.start_send(rows, peer));
    });
    group.wait(tickets);
    add_in_rank_order(group, own, received);
}

}  // namespace trireme
