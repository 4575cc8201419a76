// Programs for people and files: CSV, and a grid of time and teams.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// One line for each program, cells in order; empty cells and lines that begin with # are skipped; blank lines
// too. A cell BODY stands between what comes before the first step and what each step repeats; a line without
// one has nothing before. Throws ConfigError naming line and cell; `place` is the file's name.
Phases phases_from_csv(std::string_view text, const std::string& place);
std::string csv_of(const Phases& phases);

std::string csv_of(const std::vector<Program>& programs);  // that nothing comes before

// Time runs to the right in units of the shortest compute instruction, of those that take at least 1 / 16 of
// the longest; a longer one fills its width.
//   team 0   F0 F1 F2       B0 F3 B1 .. B2 .. B3
//   team 1      F0 F1    B0 F2 B1 F3 B2 .. B3
// Where a team holds several stages, cells name them: 2F0. A grid wider than `most_columns` characters ends
// with "..." and a note.
std::string grid_of(const Prediction& prediction, std::size_t most_columns = 200);

}  // namespace trireme::schedule
