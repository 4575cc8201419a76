// The tokenizer of a corpus that is made: named, or learned from its texts.
#pragma once

#include <string>

#include "tools/prepare/prepare_progress.hpp"
#include "trireme/data/corpus_info.hpp"
#include "trireme/data/tokenizer.hpp"
#include "trireme/tools/prepare.hpp"

namespace trireme {

// Whether --tokenizer says that it is learned, for which the inputs are read twice.
bool learns_tokenizer(const PrepareConfig& config);

// `kind`: of the rows; texts or questions. Throws ConfigError where the option is unknown, or the rows have no
// text to learn from.
Tokenizer choose_tokenizer(const PrepareConfig& config, RowKind kind, PrepareProgress& progress);

}  // namespace trireme
