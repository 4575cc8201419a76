#include "setup/shared_memory_pool.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::setup {

std::string explain_lack(const std::vector<SharedMemoryPool>& pools, const std::vector<RankNeed>& needs) {
    constexpr std::size_t megabyte = 1'000'000;
    for (const SharedMemoryPool& pool : pools) {
        std::size_t rank_count = 0;
        std::size_t needed_bytes = 0;
        std::size_t max_rank_bytes = 0;
        for (const RankNeed& need : needs) {
            if (std::ranges::find(need.pool_keys, pool.key) == need.pool_keys.end()) continue;
            rank_count += 1;
            needed_bytes += need.bytes;
            max_rank_bytes = std::max(max_rank_bytes, need.bytes);
        }
        if (needed_bytes <= pool.left) continue;
        const std::string need_text =
            rank_count == 1
                ? cat("the rank on ", pool.ranks, " needs ", needed_bytes / megabyte, " MB")
                : cat("the ", rank_count, " ranks on ", pool.ranks, " need ", needed_bytes / megabyte,
                      " MB (the fullest rank ", max_rank_bytes / megabyte, " MB)");
        const char* const advice_to_split = max_rank_bytes > pool.left
                                                ? "the fullest rank alone exceeds this: split the model among "
                                                  "more ranks with --pipe or --tensor, or "
                                                : "";
        return cat(need_text, ", but ", pool.name, " has only ", pool.left / megabyte, " MB left; ",
                   advice_to_split, "use a smaller --batch or --max-length, more --microbatches, or ",
                   pool.more);
    }
    return {};
}

}  // namespace trireme::setup
