// The records of a finished or unfinished run, as a report needs them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/trace_records.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/records/run_records.hpp"

namespace trireme::report {

using OptionalText = std::optional<std::string>;

// Seconds of one rank, summed over all steps.
struct RankSeconds {
    double compute = 0;  // in kernels
    double stages = 0;   // waiting for other stages
    double tensor = 0;   // waiting for the other ranks of the team
    double data = 0;     // waiting for other data-parallel replicas
    double rest = 0;     // all other time of the steps
};

// An event at the end of a step, for the charts.
struct RunEvent {
    enum Kind { slow_rank, plan_change, evaluation, checkpoint };
    Kind kind = slow_rank;
    double step = 0;
    std::string text;
};

struct RunRecords {
    std::string name;  // name of the directory
    std::optional<records::Manifest> manifest;
    std::optional<layout::Layout> layout;     // of the plan with which the run began
    std::optional<records::Summary> summary;  // empty if the run is not finished
    std::vector<records::StepLine> steps;     // in the order of the file; without lists per rank
    std::vector<records::EvaluationLine> evaluations;
    std::vector<plan::Decision> decisions;  // changes of plan
    std::vector<RankSeconds> ranks;         // per rank; empty if not recorded
    std::vector<RunEvent> events;           // grouped by kind
    OptionalText config;                    // content of config.ini
    std::optional<RunTrace> trace;          // trace.json
};

// Reads the records in `directory`. Throws ConfigError if there is no steps.jsonl or a record cannot be read.
// An incomplete last line, which a running or killed run may have left, is ignored.
RunRecords read_run(const std::filesystem::path& directory);

}  // namespace trireme::report
