#include "trireme/stage/workspace.hpp"

#include <algorithm>

#include "trireme/base/numbers.hpp"

namespace trireme::stage {

std::size_t StageMemory::count_workspace_bytes() const {
    return round_up_to_cache_lines(scratch) + round_up_to_cache_lines(block_activations) +
           round_up_to_cache_lines(exchange);
}

StageMemory elementwise_max(const StageMemory& a, const StageMemory& b) {
    return {.activations = std::max(a.activations, b.activations),
            .scratch = std::max(a.scratch, b.scratch),
            .block_activations = std::max(a.block_activations, b.block_activations),
            .exchange = std::max(a.exchange, b.exchange)};
}

void Workspace::move_to(std::byte* memory, const StageMemory& sizes) {
    sizes_ = sizes;
    scratch.move_to(memory, sizes.scratch);
    memory += round_up_to_cache_lines(sizes.scratch);
    block_activations.move_to(memory, sizes.block_activations);
    memory += round_up_to_cache_lines(sizes.block_activations);
    exchange.move_to(memory, sizes.exchange);
}

std::size_t Workspace::count_used_bytes() const {
    const std::size_t block_begin = round_up_to_cache_lines(sizes_.scratch);
    const std::size_t exchange_begin = block_begin + round_up_to_cache_lines(sizes_.block_activations);
    std::size_t end = scratch.peak();
    if (block_activations.peak() > 0) end = block_begin + block_activations.peak();
    if (exchange.peak() > 0) end = exchange_begin + exchange.peak();
    return end;
}

}  // namespace trireme::stage
