#include "data/tokenizer/merge_rules.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>

namespace trireme::data {
namespace {

// Up to this number of tokens in a pre-token (see Splitter), searching all pairs for the best merge is cheaper
// than a heap.
constexpr std::size_t max_short_tokens = 48;

std::uint64_t join_pair(std::uint32_t left, std::uint32_t right) {
    return static_cast<std::uint64_t>(left) << 32 | right;
}

// A doubly linked list of the tokens of a pre-token. A merge replaces the left token of a pair and unlinks the
// right one.
class TokenChain {
public:
    static constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

    explicit TokenChain(std::span<std::uint32_t> tokens) : tokens_(tokens), links_(tokens.size()) {
        for (std::size_t i = 0; i < links_.size(); ++i)
            links_[i] = {.previous = i == 0 ? none : i - 1, .next = i + 1 < links_.size() ? i + 1 : none};
    }

    std::uint32_t token(std::size_t at) const { return tokens_[at]; }
    std::size_t previous(std::size_t at) const { return links_[at].previous; }
    std::size_t next(std::size_t at) const { return links_[at].next; }
    bool is_linked(std::size_t at) const { return links_[at].next != at; }

    // Replaces the token at `at` and its successor by `result`.
    void merge(std::size_t at, std::uint32_t result) {
        const std::size_t removed = next(at);
        const std::size_t after = next(removed);
        tokens_[at] = result;
        links_[at].next = after;
        if (after != none) links_[after].previous = at;
        links_[removed].next = removed;  // marks the token as unlinked
    }

    // Moves the remaining tokens to the front and returns their number.
    std::size_t compact() {
        std::size_t count = 0;
        for (std::size_t at = 0; at != none; at = next(at)) tokens_[count++] = tokens_[at];
        return count;
    }

private:
    struct Link {
        std::size_t previous;
        std::size_t next;
    };

    std::span<std::uint32_t> tokens_;
    std::vector<Link> links_;
};

// A merge that could be applied to the token at `at` and its successor.
struct Candidate {
    std::uint32_t rank;
    std::size_t at;

    bool operator>(const Candidate& other) const {
        return rank != other.rank ? rank > other.rank : at > other.at;
    }
};

}  // namespace

MergeRules::MergeRules(std::span<const Merge> merges) : slots_(std::bit_ceil(2 * merges.size() + 2)) {
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const std::uint64_t pair = join_pair(merges[rank].left, merges[rank].right);
        Slot& slot = slots_[find_slot(pair)];
        if (!slot.rule.exists())
            slot = {.pair = pair, .rule = {static_cast<std::uint32_t>(rank), merges[rank].result}};
    }
}

// Returns the index of the slot of the pair, or of the free slot where the pair would be inserted.
std::size_t MergeRules::find_slot(std::uint64_t pair) const {
    const std::size_t index_mask = slots_.size() - 1;  // the size is a power of two
    const std::uint64_t hash = (pair ^ pair >> 29) * 0x9e3779b97f4a7c15;
    std::size_t at = (hash ^ hash >> 32) & index_mask;
    while (slots_[at].rule.exists() && slots_[at].pair != pair) at = (at + 1) & index_mask;
    return at;
}

MergeRules::Rule MergeRules::find_rule(std::uint32_t left, std::uint32_t right) const {
    return slots_[find_slot(join_pair(left, right))].rule;
}

std::size_t MergeRules::apply(std::span<std::uint32_t> tokens) const {
    if (tokens.size() < 2) return tokens.size();
    return tokens.size() <= max_short_tokens ? apply_to_short(tokens) : apply_to_long(tokens);
}

std::size_t MergeRules::apply_to_short(std::span<std::uint32_t> tokens) const {
    std::array<Rule, max_short_tokens> rules;  // rules[i] is the rule for tokens i and i + 1
    std::size_t count = tokens.size();
    for (std::size_t i = 0; i + 1 < count; ++i) rules[i] = find_rule(tokens[i], tokens[i + 1]);

    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i)
            if (rules[i].rank < rules[best].rank) best = i;
        if (!rules[best].exists()) break;

        tokens[best] = rules[best].result;
        for (std::size_t i = best + 1; i + 1 < count; ++i) {
            tokens[i] = tokens[i + 1];
            rules[i] = rules[i + 1];
        }
        --count;
        if (best > 0) rules[best - 1] = find_rule(tokens[best - 1], tokens[best]);
        rules[best] = best + 1 < count ? find_rule(tokens[best], tokens[best + 1]) : Rule{};
    }
    return count;
}

std::size_t MergeRules::apply_to_long(std::span<std::uint32_t> tokens) const {
    TokenChain chain(tokens);
    std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
    const auto rule_at = [&](std::size_t at) {
        const std::size_t next = chain.next(at);
        return next == TokenChain::none ? Rule{} : find_rule(chain.token(at), chain.token(next));
    };
    const auto propose = [&](std::size_t at) {
        if (at == TokenChain::none) return;
        if (const Rule rule = rule_at(at); rule.exists()) candidates.push({rule.rank, at});
    };
    for (std::size_t at = 0; at < tokens.size(); ++at) propose(at);

    while (!candidates.empty()) {
        const Candidate best = candidates.top();
        candidates.pop();
        if (!chain.is_linked(best.at)) continue;
        const Rule rule = rule_at(best.at);
        if (rule.rank != best.rank) continue;  // outdated: a neighbour has been merged
        chain.merge(best.at, rule.result);
        propose(chain.previous(best.at));
        propose(best.at);
    }
    return chain.compact();
}

}  // namespace trireme::data
