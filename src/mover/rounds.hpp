// Distributes the transfers of a move over rounds (see MoveRound).
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "trireme/mover/move.hpp"

namespace trireme::mover {

class Rounds {
public:
    // `max_elements` is the maximum number of elements that a rank sends plus receives in a round. Throws
    // BugError if `max_elements` is 0.
    explicit Rounds(std::size_t max_elements);

    // Adds a transfer of at most `max_elements` elements. The current round of a rank is the last round with a
    // transfer from or to that rank, initially round 0. The transfer is added to the current round of its
    // source or of its destination, whichever is later. If one of the two ranks would thus exceed
    // `max_elements` in that round, the transfer is added to the next round instead.
    void add(const Transfer& transfer);

    // Returns the rounds in order. The messages of a round are sorted by source, then destination.
    std::vector<MoveRound> take_rounds() &&;

private:
    // The current round of a rank.
    struct RankRound {
        std::size_t round = 0;
        std::size_t elements = 0;  // number of elements that the rank sends plus receives in `round`

        std::size_t elements_in(std::size_t any_round) const { return round == any_round ? elements : 0; }
    };

    void add_to_round(const Transfer& transfer, std::size_t round);

    std::size_t max_elements_;
    std::map<int, RankRound> current_rounds_;                         // per rank
    std::vector<std::map<std::pair<int, int>, MoveMessage>> rounds_;  // per round: by (source, destination)
};

}  // namespace trireme::mover
