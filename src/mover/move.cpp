#include "trireme/mover/move.hpp"

#include <algorithm>
#include <map>

#include "mover/cells.hpp"
#include "mover/rounds.hpp"

namespace trireme::mover {

namespace {

// Adds the elements that each rank sends and receives.
void count(const MoveRound& round, std::map<int, std::size_t>& of_rank) {
    for (const Shipment& shipment : round) {
        of_rank[shipment.source] += shipment.elements;
        of_rank[shipment.destination] += shipment.elements;
    }
}

std::size_t most_of(const std::map<int, std::size_t>& of_rank) {
    std::size_t most = 0;
    for (const auto& [rank, elements] : of_rank) most = std::max(most, elements);
    return most;
}

}  // namespace

std::size_t Move::elements_sent() const {
    std::size_t sum = 0;
    for (const MoveRound& round : rounds) {
        for (const Shipment& shipment : round) sum += shipment.elements;
    }
    return sum;
}

std::size_t Move::elements_kept() const {
    std::size_t sum = 0;
    for (const Transfer& transfer : kept) sum += transfer.box.size();
    return sum;
}

std::size_t Move::most_elements() const {
    std::size_t most = 0;
    for (const MoveRound& round : rounds) {
        std::map<int, std::size_t> of_rank;
        count(round, of_rank);
        most = std::max(most, most_of(of_rank));
    }
    return most;
}

std::size_t Move::most_elements_of_a_rank() const {
    std::map<int, std::size_t> of_rank;
    for (const MoveRound& round : rounds) count(round, of_rank);
    return most_of(of_rank);
}

Move plan_move(const std::vector<layout::HeldTensor>& before, const std::vector<layout::HeldTensor>& after,
               const MoveRules& rules) {
    Move move;
    for (const layout::HeldTensor& tensor : after) move.tensors.push_back(tensor.name);
    Sources sources(rules.nodes);
    Rounds rounds(rules.most_elements);
    for (const Cell& cell : cells_of(before, after)) {
        for (const int rank : cell.keepers()) move.kept.push_back({cell.tensor, cell.box, rank, rank});
        const std::vector<int> missing = cell.missing();
        if (missing.empty()) continue;
        for (const layout::Box& part : cut_small(cell.box, rules.most_elements)) {
            for (const int rank : missing) {
                rounds.add({cell.tensor, part, sources.choose(cell.before, rank, part.size()), rank});
            }
        }
    }
    move.rounds = std::move(rounds).take();
    return move;
}

}  // namespace trireme::mover
