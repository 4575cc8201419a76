// What a run left behind, as far as it got.
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

// Seconds of one rank in all steps.
struct RankSeconds {
    double compute = 0, stages = 0, tensor = 0, data = 0, rest = 0;
};

// Something that happened after a step.
struct RunEvent {
    enum Kind { slow_rank, plan_change, evaluation, checkpoint };
    Kind kind = slow_rank;
    double step = 0;
    std::string text;
};

struct RunRecords {
    std::string name;  // of the directory
    std::optional<records::Manifest> manifest;
    std::optional<layout::Layout> layout;     // at the start
    std::optional<records::Summary> summary;  // empty: the run is not finished
    std::vector<records::StepLine> steps;     // in the order written
    std::vector<records::EvaluationLine> evaluations;
    std::vector<plan::Decision> decisions;  // that changed the plan
    std::vector<RankSeconds> ranks;         // of each rank; empty: the records do not say
    std::vector<RunEvent> events;           // in the order of their kinds
    Words config;                           // config.ini as it is
    std::optional<RunTrace> trace;          // trace.json
};

// Throws ConfigError where `directory` holds no steps.jsonl, or a record that cannot be read. The last line of
// a run that is writing, or was killed while it wrote, may be unfinished: it is left out.
RunRecords read_run(const std::filesystem::path& directory);

}  // namespace trireme::report
