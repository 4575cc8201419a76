// The merges of a BPE vocabulary in a form that is fast to apply.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "data/tokenizer/vocabulary.hpp"

namespace trireme::data {

class MergeRules {
public:
    explicit MergeRules(std::span<const Merge> merges);

    // Replaces `tokens`, one per byte of a pre-token, by the BPE tokens of the pre-token. Of all merges that
    // apply, applies the merge with the lowest index in the list at its leftmost position. Repeats this until
    // no merge applies. Writes the result to the front of `tokens`, and returns its length. Takes time n log n
    // for n bytes.
    std::size_t apply(std::span<std::uint32_t> tokens) const;

private:
    struct Rule {
        // Index in the list of merges; the maximum means that there is no rule.
        std::uint32_t rank = std::numeric_limits<std::uint32_t>::max();
        std::uint32_t result = 0;

        bool exists() const { return rank != std::numeric_limits<std::uint32_t>::max(); }
    };
    struct Slot {
        std::uint64_t pair = 0;  // the left token in the upper 32 bits, the right token in the lower
        Rule rule;
    };

    Rule find_rule(std::uint32_t left, std::uint32_t right) const;
    std::size_t find_slot(std::uint64_t pair) const;
    std::size_t apply_to_short(std::span<std::uint32_t> tokens) const;
    std::size_t apply_to_long(std::span<std::uint32_t> tokens) const;

    // A hash table with open addressing. Its size is a power of two, and at most half of its slots are used.
    std::vector<Slot> slots_;
};

}  // namespace trireme::data
