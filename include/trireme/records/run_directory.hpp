// Writes the records of a run to its directory: starts.jsonl, config.ini, manifest.json, steps.jsonl,
// decisions.jsonl, summary.json, and `stopped` if the run ended early and can be resumed.
#pragma once

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/plan/decision.hpp"
#include "trireme/records/run_lock.hpp"
#include "trireme/records/run_records.hpp"

namespace trireme::records {

// Returns the current UTC time as "2026-01-31T14:25:01Z".
std::string now_text();

// The directory of a run during one start of it. Owned by rank 0.
class RunDirectory {
public:
    // Makes the folder if needed. Throws ConfigError if it cannot be written, is in use, holds the steps of an
    // earlier run, or has a symbolic link in place of a file. If `kept_steps` is set, a run is resumed in it:
    // records of its first `kept_steps` steps stay; later ones, summary.json and `stopped` are removed.
    explicit RunDirectory(const std::filesystem::path& path,
                          std::optional<std::size_t> kept_steps = std::nullopt, const SlurmJob& job = {});

    void write_config(const std::string& ini);
    void write_manifest(const Manifest& manifest);
    void add_step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                  double peak_flops);
    // Adds the decision; later steps are recorded with the hash of its plan.
    void add_decision(const plan::Decision& decision);
    // Adds the reason why the plan stayed after `step` steps.
    void add_no_change(std::size_t step, const std::string& why);
    void add_evaluation(std::size_t step, const Evaluation& evaluation);
    void write_summary(const Figures& figures);
    // Writes a file that tells scripts that the run stopped early and that its last checkpoint is on disk.
    void write_stopped(const EarlyEnd& end);

    // Messages for the console about dropped records or a file system without locks.
    const std::vector<std::string>& remarks() const { return remarks_; }
    const std::string& peak_is() const { return peak_is_; }
    const std::filesystem::path& path() const { return path_; }

private:
    void keep_records_of(std::size_t steps);
    void add_remarks(const std::vector<std::string>& remarks);
    void write_file(const char* name, const std::string& text) const;
    void add_line(std::ofstream& file, const char* name, const std::string& line) const;
    void add_to_decisions(const std::string& line);

    std::filesystem::path path_;
    RunLock lock_;
    std::ofstream steps_;
    bool keeps_decisions_;                        // append to decisions.jsonl of the resumed run
    std::ofstream decisions_;                     // open after the first decision
    std::string peak_is_ = setup::PeakRate{}.is;  // description of the peak rate
    std::vector<std::string> remarks_;
    std::optional<std::size_t> tokens_of_image_;
    std::string plan_;  // hash of the current plan; empty until the manifest is written
};

// Throws ConfigError if `path` holds the steps of an earlier run. An empty path, which stands for a new
// directory, is accepted. Writes nothing.
void refuse_used(const std::filesystem::path& path);

// Makes a new folder such as "runs/gpt2-tiny-20260131-142501". If another run began in the same second, the
// name gets a suffix: "-2", "-3", ...
std::filesystem::path make_default_run_directory(const std::string& model);
// Returns `wished`; if it is empty, makes the default run directory.
std::filesystem::path chosen_run_directory(const std::string& wished, const std::string& model);

// Opens the run directory that the options name. Records of the first `kept_steps` steps stay; if unset, the
// directory must hold no steps.
std::unique_ptr<RunDirectory> open_run_directory(const config::RunConfig& config, const std::string& model,
                                                 std::optional<std::size_t> kept_steps);

}  // namespace trireme::records
