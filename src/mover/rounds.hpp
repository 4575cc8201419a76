// Who sends when.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "trireme/mover/move.hpp"

namespace trireme::mover {

class Rounds {
public:
    explicit Rounds(std::size_t most_elements);  // not 0

    // A transfer of at most that many elements, in the first round from which on both its ranks have room: a
    // rank never turns back to an earlier one.
    void add(const Transfer& transfer);

    std::vector<MoveRound> take() &&;

private:
    struct RankRound {
        std::size_t round = 0;
        std::size_t elements = 0;  // of the rank in that round

        std::size_t elements_in(std::size_t other) const { return round == other ? elements : 0; }
    };

    void put(const Transfer& transfer, std::size_t round);

    std::size_t most_;
    std::map<int, RankRound> places_;  // of each rank, the last round that it takes part in
    std::vector<std::map<std::pair<int, int>, Shipment>> rounds_;  // by source and destination
};

}  // namespace trireme::mover
