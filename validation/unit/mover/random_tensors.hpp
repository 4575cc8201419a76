// Random distributions of tensors over ranks, before and after a move.
#pragma once

#include <cstdint>
#include <vector>

#include "trireme/base/random.hpp"
#include "trireme/layout/pieces.hpp"
#include "trireme/mover/move.hpp"

namespace trireme::validation {

inline constexpr std::uint64_t changes = 60;            // number of random changes per test
inline constexpr std::size_t small_round_elements = 6;  // less than a row, so boxes are cut in both directions

struct Change {
    std::vector<layout::HeldTensor> before;
    std::vector<layout::HeldTensor> after;
};

// Returns a random number below `end`.
inline std::size_t drawn(RandomKey key, std::size_t end) {
    return random_block(key, std::uint64_t{0})[0] % end;
}

// Cuts the rows and the columns of a tensor in two at random, and gives each quarter to random ranks. If
// `covers`, each quarter has at least one holder.
inline layout::HeldTensor random_tensor(RandomKey key, const std::string& name, std::size_t ranks,
                                        bool covers) {
    layout::HeldTensor tensor{.name = name, .rows = 5, .columns = 7, .last_use = 0, .slices = {}};
    const std::size_t row = drawn(key.then("row"), 6);
    const std::size_t column = drawn(key.then("column"), 8);
    for (const layout::Range rows : {layout::Range{0, row}, layout::Range{row, 5 - row}}) {
        for (const layout::Range columns : {layout::Range{0, column}, layout::Range{column, 7 - column}}) {
            const RandomKey quarter = key.then(rows.begin * 10 + columns.begin).then(rows.count);
            const std::size_t first = drawn(quarter, ranks);
            for (std::size_t rank = 0; rank < ranks; ++rank) {
                const bool holds = drawn(quarter.then(rank), 3) == 0;
                if ((covers && rank == first) || holds) {
                    tensor.slices.push_back({static_cast<int>(rank), {rows, columns}});
                }
            }
        }
    }
    return tensor;
}

// Returns a change of three tensors over `ranks` ranks. Before the change each element has a holder.
inline Change random_change(std::uint64_t seed, std::size_t ranks) {
    Change change;
    for (const char* name : {"a", "b", "c"}) {
        const RandomKey key = RandomKey{seed}.then(name);
        change.before.push_back(random_tensor(key.then("before"), name, ranks, true));
        change.after.push_back(random_tensor(key.then("after"), name, ranks, false));
    }
    return change;
}

inline bool holds(const layout::Box& box, std::size_t row, std::size_t column) {
    return !intersect(box, layout::Box{{row, 1}, {column, 1}}).is_empty();
}

// Returns all transfers of a move, both kept and sent.
inline std::vector<mover::Transfer> transfers_of(const mover::Move& move) {
    std::vector<mover::Transfer> all = move.local_copies;
    for (const mover::MoveRound& round : move.rounds) {
        for (const mover::MoveMessage& shipment : round) {
            all.insert(all.end(), shipment.boxes.begin(), shipment.boxes.end());
        }
    }
    return all;
}

}  // namespace trireme::validation
