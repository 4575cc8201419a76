#include "mover/rounds.hpp"

#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::mover {

Rounds::Rounds(std::size_t max_elements) : max_elements_(max_elements) {
    if (max_elements_ == 0) throw BugError("a round of a move must allow at least 1 element, not 0");
}

void Rounds::add(const Transfer& transfer) {
    RankRound& source = current_rounds_[transfer.source];
    RankRound& destination = current_rounds_[transfer.destination];
    const std::size_t elements = transfer.box.size();
    std::size_t round = std::max(source.round, destination.round);
    const std::size_t used_elements = std::max(source.elements_in(round), destination.elements_in(round));
    if (used_elements + elements > max_elements_) ++round;
    for (RankRound* const rank_round : {&source, &destination}) {
        *rank_round = {.round = round, .elements = rank_round->elements_in(round) + elements};
    }
    add_to_round(transfer, round);
}

void Rounds::add_to_round(const Transfer& transfer, std::size_t round) {
    if (round >= rounds_.size()) rounds_.resize(round + 1);
    MoveMessage& message = rounds_[round][{transfer.source, transfer.destination}];
    message.source = transfer.source;
    message.destination = transfer.destination;
    message.boxes.push_back(transfer);
    message.elements += transfer.box.size();
}

std::vector<MoveRound> Rounds::take_rounds() && {
    std::vector<MoveRound> move_rounds;
    for (auto& messages : rounds_) {
        MoveRound& round = move_rounds.emplace_back();
        for (auto& [ranks, message] : messages) round.push_back(std::move(message));
    }
    return move_rounds;
}

}  // namespace trireme::mover
