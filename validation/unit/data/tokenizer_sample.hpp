// Text and tokenizers that the tokenizer tests share. They need no files.
#pragma once

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/data/tokenizer.hpp"

namespace trireme::data::tokenizer_sample {

inline constexpr std::string_view text =
    "def mean(values):\n"
    "    \"\"\"The mean of the values; the values may be any numbers.\"\"\"\n"
    "    total = 0.0\n"
    "    for value in values:\n"
    "        total += value\n"
    "    return total / len(values)\n\n\n"
    "def largest(values):\n"
    "    \"\"\"The largest of the values; it's the first one that isn't smaller than the others.\"\"\"\n"
    "    largest = values[0]\n"
    "    for value in values[1:]:\n"
    "        if value > largest:\n"
    "            largest = value\n"
    "    return largest\n\n\n"
    "The oars of a trireme, \xce\xbc\xce\xb5\xcf\x84\xcf\x81\xce\xad\xcf\x89 170 of them, were in three banks: "
    "the thranites' 62, the zygites' 54 and the thalamites' 54. "
    "\xce\xbc\xce\xb5\xcf\x84\xcf\x81\xce\xad\xcf\x89!\n";

inline Tokenizer trained(std::size_t vocabulary_size = 320) {
    const std::vector<std::string> texts{std::string(text)};
    return Tokenizer::train(texts, vocabulary_size);
}

inline std::vector<Tokenizer> with_and_without_merges() { return {Tokenizer::make_raw_bytes(), trained()}; }

// Returns `count` random draws from `parts`, joined. Equal seeds give equal texts on every machine.
inline std::string drawn(const std::vector<std::string>& parts, std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::string joined;
    for (std::size_t i = 0; i < count; ++i) joined += parts[random() % parts.size()];
    return joined;
}

inline std::string drawn_bytes(std::size_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::string bytes;
    for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(random() & 0xff);
    return bytes;
}

}  // namespace trireme::data::tokenizer_sample
