// The messages that carry the rows of a micro-batch from the ranks of one team to the ranks of another team.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

struct RowMessage {
    int source = 0;       // rank
    int destination = 0;  // rank
    Range rows;           // rows of the micro-batch's activations; never empty
    friend bool operator==(const RowMessage&, const RowMessage&) = default;
};

// Returns the messages for a micro-batch of `rows` rows; none if `rows` is 0. `senders` and `receivers` are the
// ranks of the two teams. If `are_rows_cut` is false, every rank of both teams has all rows, and receivers[j]
// gets all rows from senders[j % senders.size()]. If `are_rows_cut` is true (sequence parallelism), rows are
// cut over the ranks of each team by cut_evenly(), and each receiver gets its rows from the senders that hold
// them. Messages are sorted by the position of the source in `senders`, then by the position of the destination
// in `receivers`.
std::vector<RowMessage> plan_row_messages(std::size_t rows, const std::vector<int>& senders,
                                          const std::vector<int>& receivers, bool are_rows_cut);

}  // namespace trireme::layout
