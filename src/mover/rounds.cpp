#include "mover/rounds.hpp"

#include <algorithm>
#include <utility>

#include "trireme/base/error.hpp"

namespace trireme::mover {

Rounds::Rounds(std::size_t most_elements) : most_(most_elements) {
    if (most_ == 0) throw BugError("a move whose rounds hold nothing");
}

void Rounds::add(const Transfer& transfer) {
    RankRound& source = places_[transfer.source];
    RankRound& destination = places_[transfer.destination];
    const std::size_t size = transfer.box.size();
    std::size_t round = std::max(source.round, destination.round);
    const std::size_t fullest = std::max(source.elements_in(round), destination.elements_in(round));
    if (fullest + size > most_) ++round;
    for (RankRound* const place : {&source, &destination}) {
        *place = {.round = round, .elements = place->elements_in(round) + size};
    }
    put(transfer, round);
}

void Rounds::put(const Transfer& transfer, std::size_t round) {
    if (round >= rounds_.size()) rounds_.resize(round + 1);
    Shipment& shipment = rounds_[round][{transfer.source, transfer.destination}];
    shipment.source = transfer.source;
    shipment.destination = transfer.destination;
    shipment.boxes.push_back(transfer);
    shipment.elements += transfer.box.size();
}

std::vector<MoveRound> Rounds::take() && {
    std::vector<MoveRound> all;
    for (auto& shipments : rounds_) {
        MoveRound& round = all.emplace_back();
        for (auto& [ranks, shipment] : shipments) round.push_back(std::move(shipment));
    }
    return all;
}

}  // namespace trireme::mover
