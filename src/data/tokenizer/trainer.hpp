#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "data/tokenizer/vocabulary.hpp"

namespace trireme {

// Learns byte-pair merges (Sennrich et al. 2016, algorithm 1) within GPT-2's pieces of the texts: the most
// frequent pair of neighbours becomes a token, of equally frequent ones the pair whose bytes come first (the
// left token's, then the right one's), until there are `vocabulary_size` tokens or no pair occurs twice. The
// end token comes last. Throws ConfigError below 257.
Vocabulary learn_merges(std::span<const std::string> texts, std::size_t vocabulary_size);

}  // namespace trireme
