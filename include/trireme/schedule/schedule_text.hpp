// Programs as text: CSV files, and a grid of time and teams.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Parses one line per program, with its cells in order. Empty cells, blank lines and lines that begin with #
// are skipped. A cell BODY separates the prologue from the body; a line without it has no prologue. Throws
// ConfigError naming line and cell; `place` is the name of the file.
Phases phases_from_csv(std::string_view text, const std::string& place);
std::string csv_of(const Phases& phases);

std::string csv_of(const std::vector<Program>& programs);  // without prologues

// Draws a grid. Time runs to the right, in units of the shortest compute instruction that takes at least 1 / 16
// of the longest one. A longer instruction fills its width.
//   team 0   F0 F1 F2       B0 F3 B1 .. B2 .. B3
//   team 1      F0 F1    B0 F2 B1 F3 B2 .. B3
// If a team holds several stages, cells name them: 2F0. A grid wider than `most_columns` characters ends with
// "..." and a note.
std::string grid_of(const Prediction& prediction, std::size_t most_columns = 200);

}  // namespace trireme::schedule
