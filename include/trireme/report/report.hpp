// The report of a run as an HTML page, and drawings of schedules as SVG.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trireme/schedule/predict.hpp"

namespace trireme::report {

// Reads the records in `run_directory` and writes the HTML file `output`. The file has no scripts, and a
// browser needs no other file to show it. A run without a summary is shown up to its last record; figures that
// the records lack are omitted. Equal records give byte-identical files. Throws ConfigError for a directory
// without records, for an unreadable record (the message names file and line), and for an output that cannot be
// created or that is itself a record of the run. Throws ResourceError if the disk is full.
void write_report(const std::filesystem::path& run_directory, const std::filesystem::path& output);

// Kinds of time spans that are drawn in addition to the instructions of a row.
enum class ExtraSpanKind : std::uint8_t {
    wait,        // drawn in the row: waiting for messages or for other ranks
    pause,       // drawn in the row: all ranks execute something else, such as an evaluation
    state,       // drawn as a line below the row: transfer of parameters or moments
    checkpoint,  // drawn as another line below the row: copy or write of a checkpoint
};
struct ExtraSpan {
    ExtraSpanKind kind = ExtraSpanKind::wait;
    std::string name;
    double begin = 0;  // in the time unit of the timeline
    double end = 0;
};

// Programs and the times of their instructions, predicted or measured.
struct Timeline {
    std::string title;
    schedule::Prediction prediction;
    std::vector<std::string> row_names = {};               // names of the rows; if empty: team 0, team 1, ...
    std::vector<std::vector<ExtraSpan>> extra_spans = {};  // per row; empty if there are none
};

// Returns an SVG file with one row per team and a horizontal time axis. Forward passes, backward passes
// (complete or in two halves) and updates have different colours, which colour-blind readers can tell apart. A
// legend explains the colours. A span that is wide enough shows its micro-batch, and also its stage if some
// team holds several stages. Every span shows its instruction and its times on hover.
std::string draw_schedule(const schedule::Prediction& prediction, const std::string& title);

// Returns an SVG file with several timelines below each other and one time axis, whose label is `unit`.
std::string draw_timelines(const std::vector<Timeline>& timelines,
                           const std::string& unit = "time, in units of cost");

}  // namespace trireme::report
