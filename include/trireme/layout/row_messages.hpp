// The messages that carry the rows of a micro-batch from the ranks of one team to those of the next.
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

// Returns the messages for a micro-batch of `rows` rows. `senders` and `receivers` are the ranks of the two
// teams. If every rank of a team has all rows, the j-th receiver gets them from sender j % senders.size(). If
// rows are cut evenly over the ranks of each team (sequence parallelism), each receiver gets its rows from the
// senders that hold them. Messages are sorted by source, then destination.
std::vector<RowMessage> plan_row_messages(std::size_t rows, const std::vector<int>& senders,
                                          const std::vector<int>& receivers, bool are_rows_cut);

}  // namespace trireme::layout
