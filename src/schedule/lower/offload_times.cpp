#include "trireme/schedule/offload_times.hpp"

#include <algorithm>

#include "trireme/base/numbers.hpp"

namespace trireme::schedule {
namespace {

void keep_longer(std::map<Instruction, double>& times, const Instruction& instruction, double seconds) {
    double& longest = times[instruction];
    longest = std::max(longest, seconds);
}

}  // namespace

std::vector<std::size_t> cut_into_transfers(std::size_t bytes) {
    constexpr std::size_t max_pieces = 32;
    const std::size_t piece = std::max<std::size_t>(1, round_up_to_cache_lines(bytes / max_pieces));
    std::vector<std::size_t> ends;
    for (std::size_t end = 0; end < bytes;) ends.push_back(end = std::min(bytes, end + piece));
    return ends;
}

OffloadTimes predict_offload_times(const std::vector<BufferUse>& uses, const std::vector<std::size_t>& bytes,
                                   const BufferPlacement& placement, std::size_t state_begin,
                                   double seconds_per_byte) {
    OffloadTimes times;
    if (placement.bytes <= state_begin) return times;
    std::vector<const BufferUse*> passes;  // the workspaces of the compute instructions, in program order
    for (const BufferUse& use : uses)
        if (use.kind == BufferKind::workspace) passes.push_back(&use);
    struct Piece {
        double seconds = 0;
        std::size_t end_of_use = 0;  // index of the program
    };
    std::vector<Piece> pieces;
    double save_seconds = 0;
    std::size_t begin = 0;
    for (const std::size_t end : cut_into_transfers(placement.bytes - state_begin)) {
        Piece piece{.seconds = static_cast<double>(end - begin) * seconds_per_byte};
        std::size_t first_use = uses.size() + passes.back()->end;
        for (std::size_t use = 0; use < uses.size(); ++use) {
            const std::size_t use_begin = placement.offsets[use];
            if (bytes[use] == 0 || use_begin >= state_begin + end ||
                use_begin + bytes[use] <= state_begin + begin)
                continue;
            first_use = std::min(first_use, uses[use].begin);
            piece.end_of_use = std::max(piece.end_of_use, uses[use].end);
        }
        begin = end;
        if (piece.end_of_use == 0) continue;  // no buffer uses the place of the piece, which stays
        save_seconds += piece.seconds;
        const auto first_pass = std::ranges::lower_bound(passes, first_use, {}, &BufferUse::begin);
        if (first_pass != passes.end()) keep_longer(times.begins, (*first_pass)->taker, save_seconds);
        pieces.push_back(piece);
    }
    // Pieces return in the order in which their memory becomes free. Each waits for those before it.
    std::ranges::stable_sort(pieces, std::greater{}, &Piece::end_of_use);
    double seconds = 0;
    for (const Piece& piece : pieces) {
        seconds += piece.seconds;
        const auto next_pass = std::ranges::lower_bound(passes, piece.end_of_use, {}, &BufferUse::begin);
        if (next_pass != passes.begin()) keep_longer(times.returns, (*std::prev(next_pass))->taker, seconds);
    }
    times.update = save_seconds + seconds;
    return times;
}

}  // namespace trireme::schedule
