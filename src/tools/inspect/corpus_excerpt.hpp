// One row of a corpus, for a look.
#pragma once

#include <ostream>

#include "trireme/data/corpus.hpp"

namespace trireme {

// The beginning of a text and its class, a question and its answer, or an image and its class. Nothing where
// there are no rows.
void print_excerpt(const Corpus& corpus, std::ostream& out);

}  // namespace trireme
