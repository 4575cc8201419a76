// Distributes transfers over rounds.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "trireme/mover/move.hpp"

namespace trireme::mover {

class Rounds {
public:
    explicit Rounds(std::size_t most_elements);  // must not be 0

    // Adds a transfer of at most `most_elements` elements. It goes to the later of the current rounds of its
    // two ranks, or to the next round if that is full; ranks never return to earlier rounds.
    void add(const Transfer& transfer);

    std::vector<MoveRound> take() &&;

private:
    struct RankRound {
        std::size_t round = 0;
        std::size_t elements = 0;  // elements of the rank in that round

        std::size_t elements_in(std::size_t other) const { return round == other ? elements : 0; }
    };

    void put(const Transfer& transfer, std::size_t round);

    std::size_t most_;
    std::map<int, RankRound> places_;                              // per rank: its current round
    std::vector<std::map<std::pair<int, int>, Shipment>> rounds_;  // per round: by (source, destination)
};

}  // namespace trireme::mover
