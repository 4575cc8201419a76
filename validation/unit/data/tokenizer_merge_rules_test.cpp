#include <gtest/gtest.h>

#include <random>

#include "data/tokenizer/merge_rules.hpp"
#include "data/tokenizer/word_index.hpp"

namespace trireme::data {
namespace {

using Tokens = std::vector<std::uint32_t>;

Tokens applied(const MergeRules& rules, Tokens tokens) {
    tokens.resize(rules.apply(tokens));
    return tokens;
}

// Applies the merges by their definition: the earliest merge of the list that fits, at its leftmost position.
Tokens applied_slowly(const std::vector<Merge>& merges, Tokens tokens) {
    for (std::size_t rank = 0; rank < merges.size();) {
        std::size_t at = 0;
        while (at + 1 < tokens.size() &&
               (tokens[at] != merges[rank].left || tokens[at + 1] != merges[rank].right))
            ++at;
        if (at + 1 >= tokens.size()) {
            ++rank;
            continue;
        }
        tokens[at] = merges[rank].result;
        tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        rank = 0;  // the new token may fit an earlier merge
    }
    return tokens;
}

// Returns random merges of distinct pairs of earlier tokens; each merge makes a new token.
std::vector<Merge> drawn_merges(std::uint32_t letters, std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::vector<Merge> merges;
    for (std::uint32_t next = letters; merges.size() < count; ++next) {
        const Merge merge{static_cast<std::uint32_t>(random() % next),
                          static_cast<std::uint32_t>(random() % next), next};
        const auto is_known = [&](const Merge& m) { return m.left == merge.left && m.right == merge.right; };
        if (std::none_of(merges.begin(), merges.end(), is_known)) merges.push_back(merge);
    }
    return merges;
}

TEST(MergeRules, ApplyTheEarliestRuleFirstFromLeftToRight) {
    const std::vector<Merge> merges{{1, 2, 10}, {0, 1, 11}, {10, 10, 12}};
    const MergeRules rules(merges);

    EXPECT_EQ(applied(rules, {0, 1, 2}), (Tokens{0, 10}));
    EXPECT_EQ(applied(rules, {1, 2, 1, 2, 1, 2}), (Tokens{12, 10}));
    EXPECT_EQ(applied(rules, {2, 2, 0}), (Tokens{2, 2, 0}));
    EXPECT_EQ(applied(rules, {5}), (Tokens{5}));
    EXPECT_EQ(applied(rules, {}), Tokens{});
}

TEST(MergeRules, MatchAReferenceImplementationAtEveryLength) {
    for (unsigned seed = 0; seed < 30; ++seed) {
        const std::vector<Merge> merges = drawn_merges(2 + seed % 4, 12, seed);
        const MergeRules rules(merges);
        std::mt19937 random(seed);
        for (std::size_t length = 0; length < 130; ++length) {
            Tokens tokens(length);
            for (std::uint32_t& token : tokens) token = static_cast<std::uint32_t>(random() % (2 + seed % 4));

            ASSERT_EQ(applied(rules, tokens), applied_slowly(merges, tokens))
                << "seed " << seed << ", length " << length;
        }
    }
}

TEST(WordIndex, FindsOnlyIndexedWords) {
    const std::vector<std::string> tokens{"a", "value", " value", "eightbyt", "ninebytes", "not indexed"};
    const WordIndex index(tokens, Tokens{0, 1, 2, 3, 4});

    for (std::uint32_t id = 0; id < 5; ++id) EXPECT_EQ(index.find(tokens[id]), id);
    for (const char* other : {"", "b", "values", "eightbytf", "ninebyte", "not indexed"})
        EXPECT_EQ(index.find(other), std::nullopt) << other;
}

}  // namespace
}  // namespace trireme::data
