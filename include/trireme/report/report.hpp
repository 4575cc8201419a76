// Drawings of the program: the report of a run, and the schedule of a plan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trireme/schedule/predict.hpp"

namespace trireme::report {

// Reads the records in `run_directory` and writes one self-contained HTML file, without scripts or network. A
// run without a summary is shown as far as its records go; fields that the records lack are omitted. The same
// records give the same bytes. Throws ConfigError for a directory without records, for an unreadable record
// (with file and line), and for an output that cannot be created. Throws ResourceError if the disk is full.
void write_report(const std::filesystem::path& run_directory, const std::filesystem::path& output);

// Kinds of spans in a row besides instructions.
enum class Beside : std::uint8_t {
    wait,        // in the row: waiting for messages or for other ranks
    pause,       // in the row: all ranks do something instead of instructions
    state,       // a line below the row: transfer of parameters or moments
    checkpoint,  // a line below that: copy or write of a checkpoint
};
struct BesideSpan {
    Beside kind = Beside::wait;
    std::string name;
    double begin = 0;
    double end = 0;
};

// Programs and the times of their instructions, predicted or measured.
struct Timeline {
    std::string title;
    schedule::Prediction prediction;
    std::vector<std::string> rows = {};                // names of the rows; if empty: team 0, team 1, ...
    std::vector<std::vector<BesideSpan>> beside = {};  // per row; empty if there are none
};

// Returns a self-contained SVG file with one row per team and time to the right. Forward passes,
// backward passes (whole or in two halves) and updates have colours that do not need red and green, and
// a legend. A span that is wide enough shows its micro-batch, and its stage if a team holds several.
// Every span shows both on hover.
std::string schedule_svg(const schedule::Prediction& prediction, const std::string& title);

// Draws several timelines below each other with a common time axis.
std::string schedules_svg(const std::vector<Timeline>& timelines,
                          const std::string& unit = "time, in units of cost");

}  // namespace trireme::report
