// The messages that carry the rows of a micro-batch from the ranks of one team to those of the next.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

struct RowMessage {
    int source = 0;       // rank
    int destination = 0;  // rank
    Range rows;           // of the micro-batch; never empty
    friend bool operator==(const RowMessage&, const RowMessage&) = default;
};

// If every rank of a team has all rows, receiver j gets them from sender j % senders. If rows are cut evenly
// over the ranks (sequence parallelism), each receiver gets its rows from the senders that hold them. Messages
// are sorted by source, then destination.
std::vector<RowMessage> row_messages(std::size_t rows, const std::vector<int>& senders,
                                     const std::vector<int>& receivers, bool are_rows_cut);

}  // namespace trireme::layout
