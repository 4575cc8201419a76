#include "trireme/layout/partition.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string_view>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/layout/shares.hpp"

namespace trireme::layout {
namespace {

// The embedding, a block or the head.
struct Item {
    std::size_t layers = 0;
    std::size_t parameters = 0;
    bool is_block = false;
};

using Cuts = std::vector<std::size_t>;  // number of items per stage

std::vector<Item> items_of(const std::vector<LayerFacts>& layers) {
    std::vector<Item> items;
    for (const LayerFacts& layer : layers) {
        if (layer.item >= items.size()) items.resize(layer.item + 1);
        Item& item = items[layer.item];
        ++item.layers;
        item.parameters += layer.parameters;
        item.is_block |= layer.is_block;
    }
    return items;
}

void check_stages(const std::vector<Item>& items, std::size_t stages, const std::string& wish) {
    if (stages >= 1 && stages <= items.size()) return;
    throw ConfigError(cat("--partition ", wish, " cannot cut ", items.size(),
                          " items (embedding, blocks and head) into ", stages, " stages; use 1 to ",
                          items.size(), " stages: change --pipe or --chunks"));
}

Cuts uniform_cuts(const std::vector<Item>& items, std::size_t stages) {
    Cuts cuts;
    for (const Range& range : cut_evenly(items.size(), stages)) cuts.push_back(range.count);
    return cuts;
}

// Fills the stages in order, each with as many items as `limit` parameters allow; every later stage keeps at
// least one item. Returns nothing if the last stage would exceed the limit.
std::optional<Cuts> filled_cuts(const std::vector<Item>& items, std::size_t stages, std::size_t limit) {
    Cuts cuts(stages, 0);
    std::size_t next = 0;
    for (std::size_t s = 0; s < stages; ++s) {
        const std::size_t end = items.size() - (stages - 1 - s);
        std::size_t parameters = 0;
        while (next < end && parameters + items[next].parameters <= limit) {
            parameters += items[next++].parameters;
            ++cuts[s];
        }
    }
    return next == items.size() ? std::optional(cuts) : std::nullopt;
}

// Bisects the parameters of the largest stage.
Cuts cuts_by_parameters(const std::vector<Item>& items, std::size_t stages) {
    std::size_t low = 0;
    std::size_t high = 0;
    for (const Item& item : items) {
        low = std::max(low, item.parameters);
        high += item.parameters;
    }
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (filled_cuts(items, stages, middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return *filled_cuts(items, stages, high);
}

Cuts cuts_by_type(const std::vector<Item>& items, std::size_t stages) {
    std::vector<std::size_t> blocks;  // indices of the blocks among the items
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].is_block) blocks.push_back(i);
    }
    if (stages > blocks.size()) {
        throw ConfigError(cat("--partition type cannot give each of ", stages,
                              " stages a block, for the model has ", blocks.size(), "; use at most ",
                              blocks.size(), " stages or --partition uniform"));
    }
    Cuts cuts;
    std::size_t begin = 0;
    for (const Range& range : cut_evenly(blocks.size(), stages)) {
        const std::size_t end = range.end() < blocks.size() ? blocks[range.end()] : items.size();
        cuts.push_back(end - begin);
        begin = end;
    }
    return cuts;
}

// Parses "4,3,3,4". Returns nothing for any other text.
std::optional<Cuts> numbers_of(std::string_view text) {
    Cuts numbers;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data();; ++at) {
        std::uint32_t number = 0;  // 32 bits, so that sums of numbers do not overflow
        const auto [after, error] = std::from_chars(at, end, number);
        if (error != std::errc{}) return std::nullopt;
        numbers.push_back(number);
        if (after == end) return numbers;
        if (*after != ',') return std::nullopt;
        at = after;
    }
}

Cuts listed_cuts(const std::vector<Item>& items, std::size_t stages, const std::string& wish,
                 const Cuts& cuts) {
    if (cuts.size() != stages) {
        throw ConfigError(cat("--partition ", wish, " names ", cuts.size(), " stages and there are ", stages,
                              "; name the items of each stage, ", items.size(), " in all"));
    }
    if (const auto empty = std::ranges::find(cuts, 0U); empty != cuts.end()) {
        throw ConfigError(cat("--partition ", wish, " gives stage ", empty - cuts.begin(),
                              " no item; give every stage at least one"));
    }
    const std::size_t sum = std::accumulate(cuts.begin(), cuts.end(), std::size_t{0});
    if (sum != items.size()) {
        throw ConfigError(cat("--partition ", wish, " gives away ", sum, " items and the model has ",
                              items.size(), " (embedding, blocks and head); make the sum ", items.size()));
    }
    return cuts;
}

Cuts cuts_for(const std::vector<Item>& items, std::size_t stages, const std::string& wish) {
    if (wish == "uniform") return uniform_cuts(items, stages);
    if (wish == "parameters") return cuts_by_parameters(items, stages);
    if (wish == "type") return cuts_by_type(items, stages);
    if (const auto cuts = numbers_of(wish)) return listed_cuts(items, stages, wish, *cuts);
    const std::array<std::string, 5> known{"uniform", "parameters", "type", "measured", "pipedream"};
    throw ConfigError(cat(
        "--partition takes uniform, parameters, type, measured, pipedream or the items of each stage, as in "
        "4,3,3,4, and not \"",
        wish, "\"", did_you_mean(wish, known)));
}

}  // namespace

std::vector<std::size_t> cut_layers(const std::vector<LayerFacts>& layers, std::size_t stages,
                                    const std::string& wish) {
    const std::vector<Item> items = items_of(layers);
    check_stages(items, stages, wish);
    std::vector<std::size_t> lengths;
    auto item = items.begin();
    for (const std::size_t count : cuts_for(items, stages, wish)) {
        std::size_t length = 0;
        for (const auto end = item + static_cast<std::ptrdiff_t>(count); item != end; ++item) {
            length += item->layers;
        }
        lengths.push_back(length);
    }
    return lengths;
}

LayerLoad recomputed(const LayerLoad& load) {
    LayerLoad again = load;
    again.seconds += load.forward_seconds;
    again.kept_bytes = load.row_bytes;
    return again;
}

LayerLoad joined(const LayerLoad& load, const LayerLoad& next) {
    return {.seconds = load.seconds + next.seconds,
            .forward_seconds = load.forward_seconds + next.forward_seconds,
            .update_seconds = load.update_seconds + next.update_seconds,
            .row_bytes = next.row_bytes,
            .parameter_bytes = load.parameter_bytes + next.parameter_bytes,
            .kept_bytes = load.kept_bytes + next.kept_bytes,
            .held_bytes = load.held_bytes + next.held_bytes,
            .workspace_bytes = std::max(load.workspace_bytes, next.workspace_bytes)};
}

}  // namespace trireme::layout
