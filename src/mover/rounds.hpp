// Distributes the transfers of a move over rounds.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "trireme/mover/move.hpp"

namespace trireme::mover {

class Rounds {
public:
    // `max_elements` is the maximum that a rank sends and receives together in a round. It must not be 0.
    explicit Rounds(std::size_t max_elements);

    // Adds a transfer of at most `max_elements` elements. The current round of a rank is the last round with a
    // transfer from or to that rank. The transfer is added to the current round of its source or of its
    // destination, whichever is later. If one of the two ranks would then have more than `max_elements`
    // elements in that round, the transfer is added to the round after it.
    void add(const Transfer& transfer);

    std::vector<MoveRound> take_rounds() &&;

private:
    // The current round of a rank.
    struct RankRound {
        std::size_t round = 0;
        std::size_t elements = 0;  // that the rank sends and receives in `round`

        std::size_t elements_in(std::size_t other) const { return round == other ? elements : 0; }
    };

    void add_to_round(const Transfer& transfer, std::size_t round);

    std::size_t max_elements_;
    std::map<int, RankRound> current_rounds_;                         // per rank: its current round
    std::vector<std::map<std::pair<int, int>, MoveMessage>> rounds_;  // per round: by (source, destination)
};

}  // namespace trireme::mover
