#include "trireme/stage/state_offload.hpp"

#include "trireme/schedule/offload_times.hpp"

namespace trireme::stage {

StateOffload::StateOffload(std::byte* block, std::size_t state_begin, device::OffloadStore& store)
    : block_(block), state_begin_(state_begin), store_(store) {}

template <class Visit>
void StateOffload::visit_pieces(std::size_t begin, std::size_t end, Visit&& visit) {
    for (Piece& piece : pieces_)
        if (begin < piece.end && piece.begin < end) visit(piece);
}

void StateOffload::begin_step(const StepMemory& memory) {
    if (!taken_bytes_.empty()) throw BugError("a step offloads state while buffers of another step are in use");
    return_all();
    if (memory.bytes <= state_begin_) return;
    std::size_t begin = state_begin_;
    for (const std::size_t end : schedule::cut_into_transfers(memory.bytes - state_begin_)) {
        pieces_.push_back({.begin = begin, .end = state_begin_ + end});
        begin = pieces_.back().end;
    }
    for (const auto& [key, place] : memory.places)
        if (place.bytes > 0)
            visit_pieces(place.offset, place.offset + place.bytes, [](Piece& piece) { ++piece.coming_uses; });
    std::erase_if(pieces_, [](const Piece& piece) { return piece.coming_uses == 0; });
    for (Piece& piece : pieces_)
        piece.save = store_.save(block_ + piece.begin, piece.begin - state_begin_, piece.end - piece.begin);
}

void StateOffload::take(const std::byte* buffer, std::size_t bytes) {
    if (bytes == 0 || pieces_.empty()) return;
    const auto begin = static_cast<std::size_t>(buffer - block_);
    visit_pieces(begin, begin + bytes, [](Piece& piece) {
        if (piece.load) throw BugError("a buffer was taken where the optimizer state has returned");
        piece.save->wait();
    });
    taken_bytes_[buffer] = bytes;
}

void StateOffload::give_back(const std::byte* buffer) {
    const auto taken = taken_bytes_.find(buffer);
    if (taken == taken_bytes_.end()) return;
    const auto begin = static_cast<std::size_t>(buffer - block_);
    visit_pieces(begin, begin + taken->second, [&](Piece& piece) {
        if (--piece.coming_uses == 0) start_return(piece);
    });
    taken_bytes_.erase(taken);
}

void StateOffload::start_return(Piece& piece) {
    piece.load = store_.load(block_ + piece.begin, piece.begin - state_begin_, piece.end - piece.begin);
}

void StateOffload::return_all() {
    for (Piece& piece : pieces_)
        if (!piece.load) start_return(piece);
    for (const Piece& piece : pieces_) piece.load->wait();
    pieces_.clear();
    taken_bytes_.clear();
}

}  // namespace trireme::stage
