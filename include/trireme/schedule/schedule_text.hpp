// Programs as text: CSV files, and a drawing of the instructions of each team over time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/phases.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::schedule {

// Parses a CSV text with one line per team. Each cell of a line is an instruction of the team's program. Empty
// cells, blank lines and lines that begin with # are skipped. A cell BODY separates the prologue from the body;
// a line without a cell BODY has no prologue. Throws ConfigError if a cell is not an instruction, if a prologue
// or a body contains a compute instruction or message twice, or if there is no program. The message names the
// line, the cell, and `location`, the name of the file.
Phases parse_phases_csv(std::string_view text, const std::string& location);
std::string to_csv(const Phases& phases);  // the text that parse_phases_csv() reads

std::string to_csv(const std::vector<Program>& programs);  // without prologues

// Draws a grid of the compute instructions, with a line per team. Time runs to the right. A cell is one unit of
// time: the duration of the shortest compute instruction that takes at least 1 / 16 of the time of the longest
// one. A cell ".." continues an instruction that takes several units.
//   team 0   F0 F1 F2       B0 F3 B1 .. B2 .. B3
//   team 1      F0 F1    B0 F2 B1 F3 B2 .. B3
// If a team holds several stages, cells also name the stage, for example 2F0. A grid wider than `max_width`
// characters is cut; its lines end with "...", and a note follows.
std::string draw_grid(const Prediction& prediction, std::size_t max_width = 200);

}  // namespace trireme::schedule
