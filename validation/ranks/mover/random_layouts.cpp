#include "ranks/mover/random_layouts.hpp"

#include <algorithm>
#include <numeric>

#include "trireme/base/random.hpp"

namespace trireme::validation {
namespace {

class Drawer {
public:
    explicit Drawer(std::uint64_t seed) : key_(RandomKey{seed}.then("layout")) {}

    // Returns a number from 1 to `most`.
    std::size_t draw_up_to(std::size_t most) { return 1 + random_block(key_, next_++)[0] % most; }

    // Returns the numbers 0, ..., count - 1 in random order.
    std::vector<std::size_t> order(std::size_t count) {
        std::vector<std::size_t> numbers(count);
        std::iota(numbers.begin(), numbers.end(), std::size_t{0});
        for (std::size_t i = count; i > 1; --i) std::swap(numbers[i - 1], numbers[draw_up_to(i) - 1]);
        return numbers;
    }

private:
    RandomKey key_;
    std::uint64_t next_ = 0;
};

// Returns the first layer of each stage, ascending. The first one is 0.
std::vector<std::size_t> random_cuts(Drawer& drawer, std::size_t layers, std::size_t stages) {
    std::vector<std::size_t> cuts = drawer.order(layers - 1);
    cuts.resize(stages - 1);
    for (std::size_t& cut : cuts) ++cut;
    cuts.push_back(0);
    std::ranges::sort(cuts);
    return cuts;
}

// Distributes `ranks` over replicas within the bounds. The remaining ranks are idle.
void add_replicas(Drawer& drawer, const LayoutBounds& bounds, std::vector<int> ranks,
                  layout::StageLayout& stage, std::vector<int>& idle) {
    while (!ranks.empty() && stage.replicas.size() < bounds.max_replicas) {
        layout::ReplicaLayout& replica = stage.replicas.emplace_back();
        for (std::size_t left = drawer.draw_up_to(std::min(bounds.max_shares, ranks.size())); left > 0;
             --left) {
            replica.ranks.push_back(ranks.back());
            replica.shares.push_back(drawer.draw_up_to(3));
            ranks.pop_back();
        }
    }
    idle.insert(idle.end(), ranks.begin(), ranks.end());
}

}  // namespace

layout::Layout make_random_layout(std::uint64_t seed, const LayoutBounds& bounds) {
    Drawer drawer(seed);
    const std::vector<std::size_t> order = drawer.order(bounds.ranks);
    const std::size_t working = drawer.draw_up_to(bounds.ranks);
    const std::size_t stages = drawer.draw_up_to(std::min({working, bounds.layers, std::size_t{3}}));
    std::vector<std::vector<int>> ranks(stages);
    layout::Layout layout{.layers = bounds.layers};
    for (std::size_t i = 0; i < bounds.ranks; ++i) {
        const auto rank = static_cast<int>(order[i]);
        const std::size_t stage = i < stages ? i : drawer.draw_up_to(stages) - 1;
        (i < working ? ranks[stage] : layout.idle).push_back(rank);
    }
    std::vector<std::size_t> cuts = random_cuts(drawer, bounds.layers, stages);
    cuts.push_back(bounds.layers);
    for (std::size_t s = 0; s < stages; ++s) {
        layout::StageLayout& stage = layout.stages.emplace_back(
            layout::StageLayout{.layers = {.begin = cuts[s], .count = cuts[s + 1] - cuts[s]}});
        add_replicas(drawer, bounds, ranks[s], stage, layout.idle);
    }
    return layout;
}

}  // namespace trireme::validation
