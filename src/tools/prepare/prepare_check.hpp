// Options of `prepare` that do not go together.
#pragma once

#include "trireme/data/corpus_info.hpp"
#include "trireme/tools/prepare.hpp"

namespace trireme {

// Throws ConfigError where the output would take the place of an input, of the tokenizer or of what is no file
// of data, or a pipe would be read twice.
void check_files(const PrepareConfig& config);

// `kind`: of the rows of the source. Throws ConfigError for an option that means nothing for such rows.
void check_meaning(const PrepareConfig& config, RowKind kind);

}  // namespace trireme
