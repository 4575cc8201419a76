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
#include "trireme/base/numbers.hpp"
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

std::vector<Item> make_items(const std::vector<LayerFacts>& layers) {
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

void check_stages(const std::vector<Item>& items, std::size_t stages, const std::string& partition) {
    if (stages >= 1 && stages <= items.size()) return;
    throw ConfigError(cat("--partition ", partition, " cannot cut ", items.size(),
                          " items (embedding, blocks and head) into ", stages, " stages; use 1 to ",
                          items.size(), " stages: change --pipe or --chunks"));
}

Cuts cut_uniformly(const std::vector<Item>& items, std::size_t stages) {
    Cuts cuts;
    for (const Range& range : cut_evenly(items.size(), stages)) cuts.push_back(range.count);
    return cuts;
}

// Fills the stages in order, each with at most `max_parameters` parameters. Leaves at least one item for every
// later stage. Returns std::nullopt if some items remain.
std::optional<Cuts> fill_stages(const std::vector<Item>& items, std::size_t stages,
                                std::size_t max_parameters) {
    Cuts cuts(stages, 0);
    std::size_t next_item = 0;
    for (std::size_t s = 0; s < stages; ++s) {
        const std::size_t end = items.size() - (stages - 1 - s);
        std::size_t parameters = 0;
        while (next_item < end && parameters + items[next_item].parameters <= max_parameters) {
            parameters += items[next_item++].parameters;
            ++cuts[s];
        }
    }
    return next_item == items.size() ? std::optional(cuts) : std::nullopt;
}

// Minimizes the number of parameters of the largest stage, by bisection.
Cuts cut_by_parameters(const std::vector<Item>& items, std::size_t stages) {
    std::size_t low = 0;
    std::size_t high = 0;
    for (const Item& item : items) {
        low = std::max(low, item.parameters);
        high += item.parameters;
    }
    while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (fill_stages(items, stages, middle)) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return *fill_stages(items, stages, high);
}

// Begins each stage after the first with a block.
Cuts cut_by_type(const std::vector<Item>& items, std::size_t stages) {
    std::vector<std::size_t> blocks;  // indices of the blocks among the items
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (items[i].is_block) blocks.push_back(i);
    }
    if (stages > blocks.size()) {
        throw ConfigError(cat("--partition type cannot give each of ", stages,
                              " stages a block, because the model has only ",
                              format_count(blocks.size(), "block"), "; use at most ",
                              format_count(blocks.size(), "stage"), " or --partition uniform"));
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

// Parses numbers with commas between them, e.g. "4,3,3,4". Returns std::nullopt for any other text.
std::optional<Cuts> parse_numbers(std::string_view text) {
    Cuts numbers;
    const char* const end = text.data() + text.size();
    for (const char* begin = text.data();; ++begin) {
        std::uint32_t number = 0;  // 32 bits, so that sums of numbers do not overflow
        const auto [number_end, error] = std::from_chars(begin, end, number);
        if (error != std::errc{}) return std::nullopt;
        numbers.push_back(number);
        if (number_end == end) return numbers;
        if (*number_end != ',') return std::nullopt;
        begin = number_end;
    }
}

// Returns `cuts`, the numbers in `partition`. Throws ConfigError if they do not fit the items and stages.
Cuts check_listed_cuts(const std::vector<Item>& items, std::size_t stages, const std::string& partition,
                       const Cuts& cuts) {
    if (cuts.size() != stages) {
        throw ConfigError(cat("--partition ", partition, " is for ", format_count(cuts.size(), "stage"),
                              ", but the layout has ", stages, "; give the number of items of each stage, ",
                              items.size(), " in total"));
    }
    if (const auto empty_stage = std::ranges::find(cuts, 0U); empty_stage != cuts.end()) {
        throw ConfigError(cat("--partition ", partition, " gives stage ", empty_stage - cuts.begin(),
                              " no item; give every stage at least one"));
    }
    const std::size_t sum = std::accumulate(cuts.begin(), cuts.end(), std::size_t{0});
    if (sum != items.size()) {
        throw ConfigError(cat("--partition ", partition, " assigns ", sum,
                              " items to stages, but the model has ", items.size(),
                              " (embedding, blocks and head); make the sum ", items.size()));
    }
    return cuts;
}

Cuts find_cuts(const std::vector<Item>& items, std::size_t stages, const std::string& partition) {
    if (partition == "uniform") return cut_uniformly(items, stages);
    if (partition == "parameters") return cut_by_parameters(items, stages);
    if (partition == "type") return cut_by_type(items, stages);
    if (const auto cuts = parse_numbers(partition)) return check_listed_cuts(items, stages, partition, *cuts);
    const std::array<std::string, 5> known_partitions{"uniform", "parameters", "type", "measured", "pipedream"};
    throw ConfigError(
        cat("--partition takes uniform, parameters, type, measured, pipedream or the number of items of each "
            "stage, such as 4,3,3,4, not ",
            quote_text(partition), suggest_word(partition, known_partitions)));
}

}  // namespace

std::vector<std::size_t> cut_layers(const std::vector<LayerFacts>& layers, std::size_t stages,
                                    const std::string& partition) {
    const std::vector<Item> items = make_items(layers);
    check_stages(items, stages, partition);
    std::vector<std::size_t> lengths;
    auto item = items.begin();
    for (const std::size_t count : find_cuts(items, stages, partition)) {
        std::size_t layer_count = 0;
        for (const auto end = item + static_cast<std::ptrdiff_t>(count); item != end; ++item) {
            layer_count += item->layers;
        }
        lengths.push_back(layer_count);
    }
    return lengths;
}

LayerLoad add_full_recomputation(const LayerLoad& load) {
    LayerLoad result = load;
    result.seconds += load.forward_seconds;
    result.activation_bytes = load.row_bytes;
    return result;
}

LayerLoad merge_loads(const LayerLoad& load, const LayerLoad& next) {
    return {.seconds = load.seconds + next.seconds,
            .forward_seconds = load.forward_seconds + next.forward_seconds,
            .update_seconds = load.update_seconds + next.update_seconds,
            .row_bytes = next.row_bytes,
            .parameter_bytes = load.parameter_bytes + next.parameter_bytes,
            .activation_bytes = load.activation_bytes + next.activation_bytes,
            .state_bytes = load.state_bytes + next.state_bytes,
            .workspace_bytes = std::max(load.workspace_bytes, next.workspace_bytes)};
}

}  // namespace trireme::layout
