#include "trireme/mover/carry_out.hpp"

#include <algorithm>

#include "mover/box_memory.hpp"
#include "trireme/device/buffer.hpp"

namespace trireme::mover {
namespace {

// Calls use(transfer, offset) for each box of a shipment; `offset` is the number of elements before it.
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

}  // namespace

struct Journey::State {
    State(const Move& the_move, const std::vector<BoxInMemory>& old_boxes,
          const std::vector<BoxInMemory>& new_boxes, device::DType type, comm::Communicator& ranks)
        : move(the_move),
          from(old_boxes),
          to(new_boxes),
          dtype(type),
          group(ranks),
          memory(bytes_in_flight(the_move, type, ranks.rank()),
                 ranks.is_ghost() ? device::MemorySpace::ghost : device::MemorySpace::host) {}

    void keep() const;
    void start_round();
    void end_round();
    bool is_over() const { return round == move.rounds.size(); }

    device::Tensor take(std::size_t elements);
    device::Tensor loaded(const Shipment& shipment);
    void unload(const Shipment& shipment, const device::Tensor& parcel) const;

    struct Arriving {
        const Shipment* shipment;
        device::Tensor parcel;
    };

    const Move& move;
    BoxMemory from, to;
    device::DType dtype;
    comm::Communicator& group;
    device::Buffer memory;
    std::size_t used = 0;   // elements of `memory`
    std::size_t round = 0;  // round in progress
    std::vector<comm::Communicator::Ticket> tickets = {};
    std::vector<Arriving> arriving = {};
};

namespace {

// Returns a box of a message as a matrix.
device::Tensor matrix(const device::Tensor& parcel, const layout::Box& box, std::size_t offset) {
    return {parcel.at(offset), parcel.dtype, box.rows.count, box.columns.count, box.columns.count};
}

}  // namespace

void Journey::State::keep() const {
    if (group.is_ghost()) return;
    for (const Transfer& kept : move.kept) {
        if (kept.destination == group.rank()) to.copy_from(from, move.tensors[kept.tensor], kept.box);
    }
}

void Journey::State::start_round() {
    used = 0;
    if (is_over()) return;
    const auto label = static_cast<comm::Label>(round);
    for (const Shipment& shipment : move.rounds[round]) {
        if (shipment.destination != group.rank()) continue;
        arriving.push_back({&shipment, take(shipment.elements)});
        tickets.push_back(group.start_receive(arriving.back().parcel, shipment.source, label));
    }
    for (const Shipment& shipment : move.rounds[round]) {
        if (shipment.source != group.rank()) continue;
        tickets.push_back(group.start_send(loaded(shipment), shipment.destination, label));
    }
}

void Journey::State::end_round() {
    for (const Arriving& come : arriving) unload(*come.shipment, come.parcel);
    tickets.clear();
    arriving.clear();
    ++round;
    start_round();
}

device::Tensor Journey::State::take(std::size_t elements) {
    std::byte* const begin = memory.data() + used * bytes_of(dtype);
    used += elements;
    return {begin, dtype, 1, elements, elements};
}

device::Tensor Journey::State::loaded(const Shipment& shipment) {
    const device::Tensor parcel = take(shipment.elements);
    if (group.is_ghost()) return parcel;
    for_each_box(shipment, [&](const Transfer& transfer, std::size_t offset) {
        from.read(move.tensors[transfer.tensor], transfer.box, matrix(parcel, transfer.box, offset));
    });
    return parcel;
}

void Journey::State::unload(const Shipment& shipment, const device::Tensor& parcel) const {
    if (group.is_ghost()) return;
    for_each_box(shipment, [&](const Transfer& transfer, std::size_t offset) {
        to.write(move.tensors[transfer.tensor], transfer.box, matrix(parcel, transfer.box, offset));
    });
}

Journey::Journey(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
                 device::DType dtype, comm::Communicator& group)
    : state_(std::make_unique<State>(move, from, to, dtype, group)) {
    state_->keep();
    state_->start_round();
}

Journey::~Journey() = default;

bool Journey::advance() {
    while (!state_->is_over()) {
        std::erase_if(state_->tickets,
                      [&](comm::Communicator::Ticket ticket) { return state_->group.is_done(ticket); });
        if (!state_->tickets.empty()) return false;
        state_->end_round();
    }
    return true;
}

void Journey::finish() {
    while (!state_->is_over()) {
        state_->group.wait(state_->tickets);
        state_->end_round();
    }
}

std::size_t bytes_in_flight(const Move& move, device::DType dtype, int rank) {
    std::size_t most = 0;
    for (const MoveRound& round : move.rounds) most = std::max(most, elements_of(round, rank));
    return most * bytes_of(dtype);
}

void carry_out(const Move& move, const std::vector<BoxInMemory>& from, const std::vector<BoxInMemory>& to,
               device::DType dtype, comm::Communicator& group) {
    Journey(move, from, to, dtype, group).finish();
}

}  // namespace trireme::mover
