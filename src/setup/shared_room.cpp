#include "setup/shared_room.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::setup {

std::string complaint_about(const std::vector<SharedRoom>& rooms, const std::vector<RankNeed>& needs) {
    constexpr std::size_t megabyte = 1'000'000;
    for (const SharedRoom& room : rooms) {
        std::size_t sharers = 0;
        std::size_t needed = 0;
        std::size_t most = 0;
        for (const RankNeed& need : needs) {
            if (std::ranges::find(need.rooms, room.key) == need.rooms.end()) continue;
            sharers += 1;
            needed += need.bytes;
            most = std::max(most, need.bytes);
        }
        if (needed <= room.left) continue;
        const std::string who = sharers == 1
                                    ? cat("the 1 rank of ", room.ranks, " needs ", needed / megabyte, " MB")
                                    : cat("the ", sharers, " ranks of ", room.ranks, " need ",
                                          needed / megabyte, " MB (", most / megabyte, " the fullest)");
        const char* const split =
            most > room.left
                ? "not even one rank fits: split the model among more ranks with --pipe or --tensor, or "
                : "";
        return cat(who, " and ", room.name, " has ", room.left / megabyte, " MB left; ", split,
                   "use a smaller --batch or --max-length, more --microbatches, or ", room.more);
    }
    return {};
}

}  // namespace trireme::setup
