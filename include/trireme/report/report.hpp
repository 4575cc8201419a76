// What the program draws: the report of a run, and the schedule of a plan.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trireme/schedule/predict.hpp"

namespace trireme::report {

// Reads the records in `run_directory` and writes one HTML file that needs nothing else: no script, no network.
// A run that has no summary yet is shown as far as its records go; a field that the records lack is left out.
// The same records give the same bytes. Throws ConfigError for a directory without records, a record that
// cannot be read (file and line named), and an output that cannot be made; ResourceError when the disk is full.
void write_report(const std::filesystem::path& run_directory, const std::filesystem::path& output);

// What a row shows beside instructions.
enum class Beside : std::uint8_t {
    wait,        // in the row itself: for messages or for others
    pause,       // likewise: what everybody does in place of instructions
    state,       // a line below the row: parameters or moments on their way
    checkpoint,  // a line below that: being copied or written
};
struct BesideSpan {
    Beside kind = Beside::wait;
    std::string name;
    double begin = 0;
    double end = 0;
};

// Programs and when they do what, or did it.
struct Timeline {
    std::string title;
    schedule::Prediction prediction;
    std::vector<std::string> rows = {};                // what they are called; none: team 0, team 1, ...
    std::vector<std::vector<BesideSpan>> beside = {};  // of each row; or none
};

// An SVG file that needs nothing else: a row for each team, time to the right, forwards, backwards (whole, or
// in their two halves) and updates in colours that are told apart without red and green, with a legend. What is
// wide enough says its micro-batch (and its stage, where a team holds several); all say it where they are
// pointed at.
std::string schedule_svg(const schedule::Prediction& prediction, const std::string& title);

// Several, one below the other over one axis of time.
std::string schedules_svg(const std::vector<Timeline>& timelines,
                          const std::string& unit = "time, in units of cost");

}  // namespace trireme::report
