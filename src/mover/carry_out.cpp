#include "trireme/mover/carry_out.hpp"

#include <algorithm>

#include "mover/box_memory.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme {
namespace {

// Calls use(box, offset) for each box of a shipment; `offset` counts the elements before it.
template <class Use>
void for_each_box(const Shipment& shipment, Use&& use) {
    std::size_t offset = 0;
    for (const Transfer& transfer : shipment.boxes) {
        use(transfer, offset);
        offset += transfer.box.size();
    }
}

std::size_t elements_of(const MoveRound& round, int rank) {
    std::size_t sum = 0;
    for (const Shipment& shipment : round) {
        if (shipment.source == rank || shipment.destination == rank) sum += shipment.elements;
    }
    return sum;
}

class Carrier {
public:
    Carrier(const Move& move, const BoxMemory& from, const BoxMemory& to, DType dtype, Communicator& group)
        : move_(move),
          from_(from),
          to_(to),
          dtype_(dtype),
          group_(group),
          memory_(bytes_in_flight(move, dtype, group.rank()), Place::memory) {}

    void carry(std::size_t number) {
        used_ = 0;
        const MoveRound& round = move_.rounds[number];
        const auto label = static_cast<Label>(number);
        std::vector<Communicator::Ticket> tickets;
        std::vector<std::pair<const Shipment*, Tensor>> arriving;
        for (const Shipment& shipment : round) {
            if (shipment.destination != group_.rank()) continue;
            arriving.emplace_back(&shipment, take(shipment.elements));
            tickets.push_back(group_.start_receive(arriving.back().second, shipment.source, label));
        }
        for (const Shipment& shipment : round) {
            if (shipment.source != group_.rank()) continue;
            tickets.push_back(group_.start_send(loaded(shipment), shipment.destination, label));
        }
        group_.wait(tickets);
        for (const auto& [shipment, parcel] : arriving) unload(*shipment, parcel);
    }

private:
    Tensor take(std::size_t elements) {
        std::byte* const begin = memory_.data() + used_ * bytes_of(dtype_);
        used_ += elements;
        return {begin, dtype_, 1, elements, elements};
    }

    // A box of a parcel, as a matrix.
    static Tensor matrix(const Tensor& parcel, const Box& box, std::size_t offset) {
        return {parcel.at(offset), parcel.dtype, box.rows.count, box.columns.count, box.columns.count};
    }

    Tensor loaded(const Shipment& shipment) {
        const Tensor parcel = take(shipment.elements);
        for_each_box(shipment, [&](const Transfer& transfer, std::size_t offset) {
            from_.read(move_.tensors[transfer.tensor], transfer.box, matrix(parcel, transfer.box, offset));
        });
        return parcel;
    }

    void unload(const Shipment& shipment, const Tensor& parcel) {
        for_each_box(shipment, [&](const Transfer& transfer, std::size_t offset) {
            to_.write(move_.tensors[transfer.tensor], transfer.box, matrix(parcel, transfer.box, offset));
        });
    }

    const Move& move_;
    const BoxMemory& from_;
    const BoxMemory& to_;
    DType dtype_;
    Communicator& group_;
    Buffer memory_;
    std::size_t used_ = 0;  // elements of it
};

}  // namespace

std::size_t bytes_in_flight(const Move& move, DType dtype, int rank) {
    std::size_t most = 0;
    for (const MoveRound& round : move.rounds) most = std::max(most, elements_of(round, rank));
    return most * bytes_of(dtype);
}

void carry_out(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
               DType dtype, Communicator& group) {
    const BoxMemory own(from);
    const BoxMemory next(to);
    for (const Transfer& kept : move.kept) {
        if (kept.destination == group.rank()) next.copy_from(own, move.tensors[kept.tensor], kept.box);
    }
    Carrier carrier(move, own, next, dtype, group);
    for (std::size_t round = 0; round < move.rounds.size(); ++round) carrier.carry(round);
}

}  // namespace trireme
