#include "trireme/mover/move.hpp"

#include <algorithm>
#include <map>

#include "mover/move_pieces.hpp"
#include "mover/rounds.hpp"

namespace trireme::mover {

namespace {

// Adds to `elements_per_rank` the elements that each rank sends and receives in a round.
void add_elements(const MoveRound& round, std::map<int, std::size_t>& elements_per_rank) {
    for (const MoveMessage& message : round) {
        elements_per_rank[message.source] += message.elements;
        elements_per_rank[message.destination] += message.elements;
    }
}

std::size_t find_max(const std::map<int, std::size_t>& elements_per_rank) {
    std::size_t max_elements = 0;
    for (const auto& [rank, elements] : elements_per_rank) max_elements = std::max(max_elements, elements);
    return max_elements;
}

}  // namespace

std::size_t Move::count_sent_elements() const {
    std::size_t sum = 0;
    for (const MoveRound& round : rounds) {
        for (const MoveMessage& message : round) sum += message.elements;
    }
    return sum;
}

std::size_t Move::count_local_elements() const {
    std::size_t sum = 0;
    for (const Transfer& transfer : local_copies) sum += transfer.box.size();
    return sum;
}

std::size_t Move::max_elements_per_round() const {
    std::size_t max_elements = 0;
    for (const MoveRound& round : rounds) {
        std::map<int, std::size_t> elements_per_rank;
        add_elements(round, elements_per_rank);
        max_elements = std::max(max_elements, find_max(elements_per_rank));
    }
    return max_elements;
}

std::size_t Move::max_elements_per_rank() const {
    std::map<int, std::size_t> elements_per_rank;
    for (const MoveRound& round : rounds) add_elements(round, elements_per_rank);
    return find_max(elements_per_rank);
}

Move plan_move(const std::vector<layout::HeldTensor>& before, const std::vector<layout::HeldTensor>& after,
               const MoveRules& rules) {
    Move move;
    for (const layout::HeldTensor& tensor : after) move.tensors.push_back(tensor.name);
    LeastLoadedRankChooser sender_chooser(rules.nodes);
    Rounds rounds(rules.max_elements_per_round);
    for (const MovePiece& piece : make_move_pieces(before, after)) {
        for (const int rank : piece.list_retaining_ranks())
            move.local_copies.push_back({piece.tensor, piece.box, rank, rank});
        const std::vector<int> receivers = piece.list_receiving_ranks();
        if (receivers.empty()) continue;
        for (const layout::Box& box : cut_box(piece.box, rules.max_elements_per_round)) {
            for (const int rank : receivers) {
                const int source = sender_chooser.choose(piece.before, rank, box.size());
                rounds.add({piece.tensor, box, source, rank});
            }
        }
    }
    move.rounds = std::move(rounds).take_rounds();
    return move;
}

}  // namespace trireme::mover
