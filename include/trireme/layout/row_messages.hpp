// How the rows of a micro-batch pass from the ranks of one team to those of the next.
#pragma once

#include <cstddef>
#include <vector>

#include "trireme/layout/box.hpp"

namespace trireme::layout {

struct RowMessage {
    int source = 0;       // rank
    int destination = 0;  // rank
    Range rows;           // of the micro-batch; none is empty
    friend bool operator==(const RowMessage&, const RowMessage&) = default;
};

// Where rows are whole on every rank of a team, receiver j gets all of them from sender j % senders. Where they
// are cut evenly over the ranks (sequence parallelism), each rank gets its own from whoever has them. In the
// order of sources, then destinations.
std::vector<RowMessage> row_messages(std::size_t rows, const std::vector<int>& senders,
                                     const std::vector<int>& receivers, bool are_rows_cut);

}  // namespace trireme::layout
