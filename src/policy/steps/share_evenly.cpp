#include "policy/steps/share_evenly.hpp"

#include <algorithm>
#include <queue>
#include <utility>

namespace trireme::policy {
namespace {

// A distribution of some items. `parts` has only the parts that are not empty, by descending sum.
struct Distribution {
    std::vector<Part> parts;
    std::int64_t spread = 0;        // largest sum - smallest sum, where empty parts have the sum 0
    std::size_t smallest_item = 0;  // breaks ties

    bool operator<(const Distribution& other) const {
        return spread != other.spread ? spread < other.spread : smallest_item > other.smallest_item;
    }
};

// Merges two distributions over `parts` parts. Merges the part of `a` that has the largest sum with the part of
// `b` that has the smallest sum, the second largest with the second smallest, and so on.
Distribution merge(Distribution a, Distribution b, std::size_t parts) {
    a.parts.resize(parts);
    b.parts.resize(parts);
    for (std::size_t p = 0; p < parts; ++p) {
        Part& source = b.parts[parts - 1 - p];
        a.parts[p].sum += source.sum;
        a.parts[p].items.insert(a.parts[p].items.end(), source.items.begin(), source.items.end());
    }
    std::ranges::stable_sort(a.parts, std::greater{}, &Part::sum);
    a.spread = a.parts.front().sum - a.parts.back().sum;
    while (a.parts.back().items.empty()) a.parts.pop_back();
    a.smallest_item = std::min(a.smallest_item, b.smallest_item);
    return a;
}

void move_item(Part& source, std::size_t index, Part& destination, std::int64_t weight) {
    destination.items.push_back(source.items[index]);
    source.items.erase(source.items.begin() + static_cast<std::ptrdiff_t>(index));
    source.sum -= weight;
    destination.sum += weight;
}

// Improves the distribution of items over two parts.
class PartPair {
public:
    PartPair(Part& heavy, Part& light, const std::vector<std::int64_t>& weights, std::size_t max_items)
        : heavy_(heavy), light_(light), weights_(weights), max_items_(max_items) {}

    // Moves an item, or swaps two, so that the larger of the two sums falls as far as possible. Returns false
    // if it cannot fall.
    bool improve() {
        const std::int64_t difference = heavy_.sum - light_.sum;
        std::int64_t best_transfer = 0;  // weight that leaves the heavy part
        std::size_t best_item = 0;
        std::size_t best_partner = light_.items.size();  // no partner: the item moves
        const auto consider = [&](std::int64_t transfer, std::size_t item, std::size_t partner) {
            if (transfer <= 0 || transfer >= difference) return;
            // The larger sum falls by the smaller one of `transfer` and `difference - transfer`.
            const auto gain = [&](std::int64_t each) { return std::min(each, difference - each); };
            if (best_transfer != 0 && gain(transfer) <= gain(best_transfer)) return;
            best_transfer = transfer;
            best_item = item;
            best_partner = partner;
        };
        for (std::size_t item = 0; item < heavy_.items.size(); ++item) {
            const std::int64_t weight = weights_[heavy_.items[item]];
            if (light_.items.size() < max_items_) consider(weight, item, light_.items.size());
            for (std::size_t partner = 0; partner < light_.items.size(); ++partner)
                consider(weight - weights_[light_.items[partner]], item, partner);
        }
        if (best_transfer == 0) return false;
        const std::size_t light_items = light_.items.size();
        move_item(heavy_, best_item, light_, weights_[heavy_.items[best_item]]);
        if (best_partner < light_items)
            move_item(light_, best_partner, heavy_, weights_[light_.items[best_partner]]);
        return true;
    }

private:
    Part& heavy_;
    Part& light_;
    const std::vector<std::int64_t>& weights_;
    std::size_t max_items_;
};

// Distributes the items by the Karmarkar-Karp method.
std::vector<Part> difference_weights(const std::vector<std::int64_t>& weights, std::size_t parts) {
    std::priority_queue<Distribution> queue;
    for (std::size_t item = 0; item < weights.size(); ++item)
        queue.push({.parts = {{.sum = weights[item], .items = {item}}},
                    .spread = weights[item],
                    .smallest_item = item});
    while (queue.size() > 1) {
        Distribution widest = queue.top();
        queue.pop();
        Distribution next = queue.top();
        queue.pop();
        queue.push(merge(std::move(widest), std::move(next), parts));
    }
    std::vector<Part> result = queue.empty() ? std::vector<Part>{} : queue.top().parts;
    result.resize(parts);
    return result;
}

// Moves the lightest items of parts with too many items to the parts with the smallest sums.
void limit_items(std::vector<Part>& parts, const std::vector<std::int64_t>& weights, std::size_t max_items) {
    for (Part& full : parts) {
        while (full.items.size() > max_items) {
            const auto lightest = std::ranges::min_element(
                full.items, {}, [&](std::size_t item) { return std::pair(weights[item], item); });
            Part* destination = nullptr;
            for (Part& part : parts)
                if (part.items.size() < max_items && (destination == nullptr || part.sum < destination->sum))
                    destination = &part;
            move_item(full, static_cast<std::size_t>(lightest - full.items.begin()), *destination,
                      weights[*lightest]);
        }
    }
}

}  // namespace

std::vector<Part> share_evenly(const std::vector<std::int64_t>& weights, std::size_t parts,
                               std::size_t max_items) {
    if (max_items == 1) {
        std::vector<Part> single_items(parts);
        for (std::size_t item = 0; item < weights.size(); ++item)
            single_items[item] = {.sum = weights[item], .items = {item}};
        return single_items;
    }
    std::vector<Part> result = difference_weights(weights, parts);
    limit_items(result, weights, max_items);
    for (bool is_improved = true; is_improved;) {
        is_improved = false;
        const auto heaviest = std::ranges::max_element(result, {}, &Part::sum);
        for (Part& part : result)
            if (&part != &*heaviest && PartPair(*heaviest, part, weights, max_items).improve()) {
                is_improved = true;
                break;
            }
    }
    for (Part& part : result) std::ranges::sort(part.items);
    return result;
}

}  // namespace trireme::policy
