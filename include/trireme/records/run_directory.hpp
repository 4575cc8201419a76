// Writes the records of a run to its directory: starts.jsonl, config.ini, manifest.json, steps.jsonl,
// decisions.jsonl, clock_costs.json, summary.json, and `stopped` if the run ended early and can be resumed.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/plan/clock_costs.hpp"
#include "trireme/plan/decision.hpp"
#include "trireme/records/run_lock.hpp"
#include "trireme/records/run_records.hpp"

namespace trireme::records {

// Returns the current UTC time as "2026-01-31T14:25:01Z".
std::string format_now();

// The directory of a run, locked by one start of the run. A start is the first launch of the run, or a launch
// that resumes the run. Only rank 0 makes this object.
class RunDirectory {
public:
    // Makes the folder if needed. If `kept_steps` is set, this start resumes the run in the folder. The records
    // of the first `kept_steps` steps stay; later records, summary.json and `stopped` are removed. Throws
    // ConfigError if the folder cannot be written, is in use, or has a symbolic link in place of a file. Also
    // throws ConfigError if `kept_steps` is unset and the folder holds the steps of an earlier run. `job`
    // describes the Slurm job, if any.
    explicit RunDirectory(const std::filesystem::path& path,
                          std::optional<std::size_t> kept_steps = std::nullopt, const SlurmJob& job = {});

    void write_config(const std::string& ini);  // config.ini: every option with its value
    void write_manifest(const Manifest& manifest);
    // Adds a line to steps.jsonl for step `step` (from 1). `peak_flops` is the peak rate of all ranks together,
    // in FLOP/s.
    void add_step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                  double peak_flops);
    // Adds a line to decisions.jsonl. Later steps are recorded with the hash of the decision's plan.
    void add_decision(const plan::Decision& decision);
    // Adds a line to decisions.jsonl: the plan was kept after `step` steps, for the reason `why`.
    void add_kept_plan(std::size_t step, const std::string& why);
    // Adds a line to steps.jsonl with the result of an evaluation after `step` steps.
    void add_evaluation(std::size_t step, const Evaluation& evaluation);
    void write_clock_costs(const plan::ClockCosts& costs) { write_file("clock_costs.json", to_json(costs)); }
    void write_summary(const Figures& figures);
    // Writes the file `stopped`. The file shows scripts that the run ended early and can be resumed.
    void write_stopped_file(const EarlyEnd& end);

    // Messages for the console about dropped records or a file system without locks.
    const std::vector<std::string>& remarks() const { return remarks_; }
    // Describes the peak FLOP/s that the MFU is relative to. Final after write_manifest().
    const std::string& peak_description() const { return peak_description_; }
    const std::filesystem::path& path() const { return path_; }

private:
    void drop_records_after(std::size_t last_step);
    void add_remarks(const std::vector<std::string>& remarks);
    void write_file(const char* name, const std::string& text) const;
    void add_line(std::ofstream& file, const char* name, const std::string& line) const;
    void add_decision_line(const std::string& line);

    std::filesystem::path path_;
    RunLock lock_;
    std::ofstream steps_;
    bool appends_decisions_;   // true: append to decisions.jsonl of the resumed run; false: replace it
    std::ofstream decisions_;  // open after the first decision
    std::string peak_description_ = setup::PeakRate{}.description;
    std::vector<std::string> remarks_;
    std::optional<std::size_t> tokens_of_image_;
    std::string plan_hash_;  // hash of the current plan; empty until the manifest is written
};

// Throws ConfigError if `path` holds the steps of an earlier run. An empty path, which stands for a new
// directory, is accepted. Writes nothing.
void check_unused(const std::filesystem::path& path);

// Makes a new folder such as "runs/gpt2-tiny-20260131-142501". If another run began in the same second, the
// name gets a suffix: "-2", "-3", ...
std::filesystem::path make_default_run_directory(const std::string& model);
// Returns `requested_path` unless it is empty. Otherwise makes and returns the default run directory for a run
// of `model`.
std::filesystem::path choose_run_directory(const std::string& requested_path, const std::string& model);

// Opens the run directory that the options name, or a new run directory for a run of `model`. `kept_steps` has
// the same meaning as in RunDirectory().
std::unique_ptr<RunDirectory> open_run_directory(const config::RunConfig& config, const std::string& model,
                                                 std::optional<std::size_t> kept_steps);

}  // namespace trireme::records
