// The records of a run, complete or not.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "report/trace_records.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/records/run_records.hpp"

namespace trireme::report {

using Words = std::optional<std::string>;

// Seconds of one rank, summed over all steps.
struct RankSeconds {
    double compute = 0, stages = 0, tensor = 0, data = 0, rest = 0;
};

// An event after a step.
struct RunEvent {
    enum Kind { slow_rank, plan_change, evaluation, checkpoint };
    Kind kind = slow_rank;
    double step = 0;
    std::string text;
};

struct RunRecords {
    std::string name;  // name of the directory
    std::optional<records::Manifest> manifest;
    std::optional<layout::Layout> layout;     // at the start
    std::optional<records::Summary> summary;  // empty if the run is not finished
    std::vector<records::StepLine> steps;     // in the order written
    std::vector<records::EvaluationLine> evaluations;
    std::vector<plan::Decision> decisions;  // those that changed the plan
    std::vector<RankSeconds> ranks;         // per rank; empty if not recorded
    std::vector<RunEvent> events;           // sorted by kind
    Words config;                           // content of config.ini
    std::optional<RunTrace> trace;          // trace.json
};

// Reads the records in `directory`. Throws ConfigError if it has no steps.jsonl or a record cannot be read.
// Omits an incomplete last line, which a running or killed run may leave.
RunRecords read_run(const std::filesystem::path& directory);

}  // namespace trireme::report
