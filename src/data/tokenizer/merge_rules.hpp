// The merges of a BPE vocabulary, made fast to apply.
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

    // Merges neighbours in `tokens`, always the earliest merge of the list that fits and of its places the
    // leftmost, until none fits. Works in place and returns how many tokens are left, at the front. A piece of
    // n bytes takes time n log n, however long it is.
    std::size_t apply(std::span<std::uint32_t> tokens) const;

private:
    struct Rule {
        std::uint32_t rank =
            std::numeric_limits<std::uint32_t>::max();  // its place in the list; the maximum: no rule
        std::uint32_t result = 0;

        bool exists() const { return rank != std::numeric_limits<std::uint32_t>::max(); }
    };
    struct Slot {
        std::uint64_t pair = 0;
        Rule rule;
    };

    Rule rule_for(std::uint32_t left, std::uint32_t right) const;
    std::size_t slot_of(std::uint64_t pair) const;
    std::size_t apply_to_short(std::span<std::uint32_t> tokens) const;
    std::size_t apply_to_long(std::span<std::uint32_t> tokens) const;

    std::vector<Slot> slots_;  // open addressing: a power of two, at most half full
};

}  // namespace trireme::data
