// `trireme evaluate`: how good a stored model is on a corpus.
#pragma once

#include "trireme/comm/session.hpp"
#include "trireme/config/config.hpp"

namespace trireme {

// Collective over all ranks. Prints loss and perplexity, accuracy, or exact match and F1 from rank 0, and
// writes them as JSON if asked to. Throws ConfigError, on all ranks together, if model or corpus cannot be
// used.
void evaluate(const EvaluateConfig& config, Session& session);

}  // namespace trireme
