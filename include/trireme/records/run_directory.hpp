// What a run leaves behind: starts.jsonl, config.ini, manifest.json, steps.jsonl, decisions.jsonl,
// summary.json, and `stopped` where it can be resumed.
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

// "2026-01-31T14:25:01Z"
std::string now_text();

// Owned by rank 0. A start of a run, by `job`, until it ends.
class RunDirectory {
public:
    // Throws ConfigError if the folder cannot be written, is in use, holds the steps of an earlier run, or has
    // a symbolic link in place of a file. If a run is resumed in it, records of its first `kept_steps` steps
    // stay; others, summary.json and `stopped` are removed.
    explicit RunDirectory(const std::filesystem::path& path,
                          std::optional<std::size_t> kept_steps = std::nullopt, const SlurmJob& job = {});

    void write_config(const std::string& ini);
    void write_manifest(const Manifest& manifest);
    void add_step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                  double peak_flops);
    // From here on steps are made with another plan.
    void add_decision(const plan::Decision& decision);
    void add_no_change(std::size_t step, const std::string& why);  // of the plan
    void add_evaluation(std::size_t step, const Evaluation& evaluation);
    void write_summary(const Figures& figures);
    // Tells scripts that the run stopped early and that its last checkpoint is on disk.
    void write_stopped(const EarlyEnd& end);

    // Sentences for the console: records that were dropped, and a file system without locks.
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
    bool keeps_decisions_;                        // of the run that goes on
    std::ofstream decisions_;                     // open once there is one
    std::string peak_is_ = setup::PeakRate{}.is;  // what the steps are compared with
    std::vector<std::string> remarks_;
    std::optional<std::size_t> tokens_of_image_;
    std::string plan_;  // the hash of what the steps are made with, once the manifest is written
};

// Throws ConfigError if `path` holds the steps of an earlier run. An empty path stands for a directory that is
// made anew. Writes nothing.
void refuse_used(const std::filesystem::path& path);

// Makes a folder that was not there before: "runs/gpt2-tiny-20260131-142501", with "-2" behind it and so on if
// another run began in the same second.
std::filesystem::path make_default_run_directory(const std::string& model);
// The one that was wished for; empty: that one.
std::filesystem::path chosen_run_directory(const std::string& wished, const std::string& model);

// Opens the run directory of the options. Records of the first `kept_steps` steps stay; without a number it
// must be new.
std::unique_ptr<RunDirectory> open_run_directory(const config::RunConfig& config, const std::string& model,
                                                 std::optional<std::size_t> kept_steps);

}  // namespace trireme::records
