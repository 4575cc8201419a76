#include "trireme/mover/move.hpp"

#include <algorithm>
#include <map>

#include "mover/cells.hpp"
#include "mover/rounds.hpp"
#include "mover/sources.hpp"

namespace trireme {

std::size_t Move::elements_sent() const {
    std::size_t sum = 0;
    for (const MoveRound& round : rounds) {
        for (const Shipment& shipment : round) sum += shipment.elements;
    }
    return sum;
}

std::size_t Move::most_elements() const {
    std::size_t most = 0;
    for (const MoveRound& round : rounds) {
        std::map<int, std::size_t> of_rank;
        for (const Shipment& shipment : round) {
            of_rank[shipment.source] += shipment.elements;
            of_rank[shipment.destination] += shipment.elements;
        }
        for (const auto& [rank, elements] : of_rank) most = std::max(most, elements);
    }
    return most;
}

Move plan_move(const std::vector<HeldTensor>& before, const std::vector<HeldTensor>& after,
               const MoveRules& rules) {
    Move move;
    for (const HeldTensor& tensor : after) move.tensors.push_back(tensor.name);
    Sources sources(rules.nodes);
    Rounds rounds(rules.most_elements);
    for (const Cell& cell : cells_of(before, after)) {
        for (const int rank : cell.keepers()) move.kept.push_back({cell.tensor, cell.box, rank, rank});
        const std::vector<int> missing = cell.missing();
        if (missing.empty()) continue;
        for (const Box& part : cut_small(cell.box, rules.most_elements)) {
            for (const int rank : missing) {
                rounds.add({cell.tensor, part, sources.choose(cell.before, rank, part.size()), rank});
            }
        }
    }
    move.rounds = std::move(rounds).take();
    return move;
}

}  // namespace trireme
