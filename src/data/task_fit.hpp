// Whether a corpus can serve a task at all.
#pragma once

#include <cstddef>

#include "trireme/data/sample_index.hpp"

namespace trireme {

constexpr std::size_t framing_specials = 2;  // [CLS] and [SEP] around a text

// Throws ConfigError where the corpus holds rows of another kind, where its tokenizer lacks a special token,
// where samples leave no room for a token, or where images are of another size than the model's.
void check_fit(const CorpusInfo& corpus, const SampleRules& rules);

}  // namespace trireme
