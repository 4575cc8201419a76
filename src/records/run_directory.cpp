#include "trireme/records/run_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>

#include "records/run_starts.hpp"
#include "records/step_line.hpp"
#include "records/truncate_records.hpp"
#include "trireme/archive/partial_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::records {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

const fs::path& create_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error || !fs::is_directory(path)) {
        throw ConfigError(cat("the run directory ", path.string(),
                              " cannot be created: ", error ? error.message() : "a file is in its place",
                              "; choose another --run-dir"));
    }
    return path;
}

// Returns the JSON text and a line end. Bytes that are not UTF-8, which paths may contain, are replaced.
std::string dump_json(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

void add_verdict(Summary& summary, const Figures& f) {
    summary.verdict = f.complaint.empty() ? "VALID" : "INVALID";
    summary.reason = f.complaint;
    summary.approximations = f.approximations;
    summary.remarks = f.remarks;
    summary.emulated_slowness = f.emulated_slowness;
    if (!f.early_end) return;
    summary.stopped_after = to_figure(f.early_end->step);
    summary.stop_reason = f.early_end->reason;
}

void add_losses(Summary& summary, const Figures& f) {
    summary.first_loss = f.first_loss;
    summary.last_loss = f.last_loss;
    if (!f.validation) return;
    summary.validation_loss = omit_non_finite(f.validation->loss);
    summary.accuracy = f.validation->accuracy;
    summary.exact_match = f.validation->exact_match;
    summary.f1 = f.validation->f1;
}

void add_speed(Summary& summary, const Figures& f, std::optional<std::size_t> tokens_of_image) {
    summary.seconds = f.seconds;
    summary.median_step_s = f.median_step_seconds;
    summary.last_step_s = f.last_step_seconds;
    summary.median_step_j = f.median_step_joules;
    summary.last_step_j = f.last_step_joules;
    if (f.before_clocks) {
        summary.step_s_before_clocks = f.before_clocks->seconds;
        summary.step_j_before_clocks = f.before_clocks->joules;
        summary.min_step_j = f.before_clocks->min_joules;
    }
    summary.tokens = to_figure(f.tokens);
    summary.tokens_per_s = f.compute_tokens_per_second();
    if (tokens_of_image) summary.images_per_s = f.compute_tokens_per_second() / to_figure(*tokens_of_image);
    summary.padding = 1 - to_figure(f.tokens) / to_figure(f.padded_tokens);
    summary.flops_per_s = f.flops / f.seconds;
    summary.peak_flops_per_s = f.peak_flops;
    summary.mfu = f.compute_mfu();
    summary.mfu_causal = f.compute_causal_mfu();
    summary.mfu_formula = "(6N + 12 L h mean squared length / mean length) tokens / (seconds peak)";
}

void add_waits(Summary& summary, const Figures& f) {
    const BubbleBreakdown breakdown = f.break_down_bubble();
    summary.bubble = f.compute_bubble();
    summary.bubble_limit = f.bubble_limit;
    summary.bubble_schedule = breakdown.schedule;
    summary.wait_tensor = breakdown.wait_tensor;
    summary.wait_data = breakdown.wait_data;
    summary.wait_other = breakdown.wait_other;
    summary.comm_wait_s = f.waits.sum();
}

void add_energy(Summary& summary, const std::vector<EnergyPhases>& energy_of_ranks) {
    const std::optional<EnergyPhases> energy = sum_energy(energy_of_ranks);
    if (!energy) return;
    summary.energy_j = energy->sum();
    summary.energy_phases_j.is_derived = are_phases_derived();
    for (const EnergyPhases& of_rank : energy_of_ranks) {
        summary.energy_j_of_ranks.push_back(of_rank.sum());
        summary.energy_phases_j.compute.push_back(of_rank.compute);
        summary.energy_phases_j.blocked.push_back(of_rank.blocked);
        summary.energy_phases_j.idle.push_back(of_rank.idle);
    }
}

// Adds energy, memory, and the costs of work between the steps.
void add_costs(Summary& summary, const Figures& f) {
    add_energy(summary, f.energy_of_ranks);
    if (f.saves > 0) {
        summary.checkpoints = to_figure(f.saves);
        summary.save_stall_s = f.save_seconds;
        summary.save_waited_s = f.save_wait_seconds;
    }
    if (f.plan_changes > 0) {
        summary.plan_changes = to_figure(f.plan_changes);
        summary.plan_change_s = f.plan_change_seconds;
        summary.moved_bytes = to_figure(f.moved_bytes);
    }
    if (f.looks > 0) {
        summary.looks = to_figure(f.looks);
        summary.look_s = f.look_seconds;
        summary.look_share = f.look_seconds / f.seconds;
    }
    if (f.growth_bytes) summary.growth_bytes = to_figure(*f.growth_bytes);
    summary.predicted_bytes = to_figure(f.predicted_bytes);
}

void add_elastic_outcomes(Summary& summary, const ElasticOutcomes& counts) {
    if (counts.empty()) return;
    const auto count = [&](const char* outcome) {
        const auto found = counts.find(outcome);
        return found == counts.end() ? 0 : to_figure(found->second);
    };
    summary.kept = count("keep");
    summary.fitted_to_memory = count("memory");
    summary.grown = count("grow");
    summary.shrunk = count("shrink");
    summary.rearranged = count("rearrange");
}

Summary make_summary(const Figures& f, const std::string& peak_description,
                     std::optional<std::size_t> tokens_of_image) {
    Summary summary;
    add_verdict(summary, f);
    summary.clock = find_clock_name();
    summary.steps = to_figure(f.steps);
    summary.earlier_steps = omit_zero(f.earlier_steps);
    summary.skipped_steps = to_figure(f.skipped_steps);
    if (f.rolled_back_updates) summary.rolled_back_updates = to_figure(*f.rolled_back_updates);
    if (f.steps_fitted_to_memory) summary.steps_fitted_to_memory = to_figure(*f.steps_fitted_to_memory);
    add_elastic_outcomes(summary, f.elastic_outcomes);
    add_losses(summary, f);
    add_speed(summary, f, tokens_of_image);
    summary.peak_description = peak_description;
    add_waits(summary, f);
    add_costs(summary, f);
    return summary;
}

std::ofstream open_to_append(const fs::path& path) {
    std::ofstream file(path, std::ios::app);
    if (file) return file;
    throw ConfigError(
        cat(path.string(), " cannot be written: ", std::strerror(errno), "; choose another --run-dir"));
}

// Throws ConfigError if a file of the run is a symbolic link; otherwise returns `path`, the run directory.
// RunLock checks the lock file itself.
const fs::path& check_no_links(const fs::path& path) {
    for (const char* name : {"starts.jsonl", "config.ini", "manifest.json", "steps.jsonl", "decisions.jsonl",
                             "summary.json", "stopped"}) {
        std::error_code error;
        if (fs::is_symlink(fs::symlink_status(path / name, error))) refuse_link(path / name);
    }
    return path;
}

}  // namespace

std::string format_now() {
    const std::time_t now = std::time(nullptr);
    std::array<char, 32> text{};
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text.data();
}

RunDirectory::RunDirectory(const fs::path& path, std::optional<std::size_t> kept_steps, const SlurmJob& job)
    : path_(check_no_links(create_folder(path))),
      lock_(path / "lock", describe_holder(job)),
      appends_decisions_(kept_steps && fs::exists(path / "decisions.jsonl")) {
    if (!lock_.complaint().empty()) add_remarks({lock_.complaint()});
    if (!kept_steps) check_unused(path);
    record_start(path / "starts.jsonl", job, kept_steps.value_or(0));
    if (kept_steps) drop_records_after(*kept_steps);
    steps_ = open_to_append(path / "steps.jsonl");
}

// Drops the records of steps after `last_step`, and removes summary.json and `stopped` of the earlier start.
void RunDirectory::drop_records_after(std::size_t last_step) {
    add_remarks(truncate_records(path_ / "steps.jsonl", last_step + 1));
    // A decision with step N changes the plan after step N. This start repeats the decision of `last_step`.
    add_remarks(truncate_records(path_ / "decisions.jsonl", last_step));
    for (const char* name : {"summary.json", "stopped"}) {
        std::error_code error;
        fs::remove(path_ / name, error);
        if (error)
            throw ConfigError(cat((path_ / name).string(), " cannot be removed: ", error.message(),
                                  "; remove it, or choose another --run-dir"));
    }
}

void RunDirectory::add_remarks(const std::vector<std::string>& remarks) {
    remarks_.insert(remarks_.end(), remarks.begin(), remarks.end());
}

void RunDirectory::write_config(const std::string& ini) { write_file("config.ini", ini); }

void RunDirectory::write_manifest(const Manifest& manifest) {
    peak_description_ = manifest.peak.description;
    tokens_of_image_ = manifest.tokens_of_image;
    plan_hash_ = manifest.plan;
    write_file("manifest.json", dump_json(to_json(manifest), 2));
}

void RunDirectory::add_step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                            double peak_flops) {
    StepLine line = make_step_line(step, outcome, flops, peak_flops);
    line.plan = plan_hash_;
    add_line(steps_, "steps.jsonl", dump_json(to_json(line)));
}

void RunDirectory::add_decision(const plan::Decision& decision) {
    add_decision_line(to_json(decision));
    plan_hash_ = decision.to;
}

void RunDirectory::add_kept_plan(std::size_t step, const std::string& why) {
    add_decision_line(plan::plan_kept_to_json(step, why));
}

void RunDirectory::add_decision_line(const std::string& line) {
    constexpr const char* name = "decisions.jsonl";
    if (!decisions_.is_open())
        decisions_.open(path_ / name, appends_decisions_ ? std::ios::app : std::ios::trunc);
    add_line(decisions_, name, line + "\n");
}

void RunDirectory::add_evaluation(std::size_t step, const Evaluation& evaluation) {
    const EvaluationLine line{.step = to_figure(step),
                              .loss = omit_non_finite(evaluation.loss),
                              .accuracy = evaluation.accuracy,
                              .exact_match = evaluation.exact_match,
                              .f1 = evaluation.f1};
    add_line(steps_, "steps.jsonl", dump_json(to_json(line)));
}

void RunDirectory::write_summary(const Figures& figures) {
    write_file("summary.json",
               dump_json(to_json(make_summary(figures, peak_description_, tokens_of_image_)), 2));
}

void RunDirectory::write_stopped_file(const EarlyEnd& end) { write_file("stopped", dump_json(to_json(end))); }

void RunDirectory::write_file(const char* name, const std::string& text) const {
    const fs::path path = path_ / name;
    if (!fs::is_directory(path_))
        throw ResourceError(cat(name, " cannot be written, because the run directory ", path_.string(),
                                " no longer exists; was it removed during the run?"));
    archive::PartialFile file(path);
    std::ofstream out(file.partial_path());
    out << text << std::flush;
    if (!out) throw ResourceError(cat(path.string(), " could not be written; is the disk full?"));
    file.commit(text.size());
}

void RunDirectory::add_line(std::ofstream& file, const char* name, const std::string& line) const {
    file << line << std::flush;
    if (!file) throw ResourceError(cat((path_ / name).string(), " could not be written; is the disk full?"));
}

void check_unused(const fs::path& path) {
    std::error_code error;
    const auto size = fs::file_size(path / "steps.jsonl", error);
    if (path.empty() || error || size == 0) return;
    const bool can_resume =
        checkpoint::find_newest_checkpoint(path / checkpoint::checkpoints_folder).has_value();
    throw ConfigError(cat("the run directory ", path.string(), " already holds the steps of an earlier run; ",
                          can_resume ? "continue that run with --resume auto, or " : "",
                          "choose another --run-dir"));
}

fs::path make_default_run_directory(const std::string& model) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
    const std::string name = cat(model, "-", text.data());
    create_folder("runs");
    fs::path path = fs::path("runs") / name;
    std::error_code error;
    for (int run = 2; !fs::create_directory(path, error) && !error; ++run)
        path = fs::path("runs") / cat(name, "-", run);
    return path;
}

fs::path choose_run_directory(const std::string& requested_path, const std::string& model) {
    return requested_path.empty() ? make_default_run_directory(model) : fs::path(requested_path);
}

std::unique_ptr<RunDirectory> open_run_directory(const config::RunConfig& config, const std::string& model,
                                                 std::optional<std::size_t> kept_steps) {
    const fs::path path =
        kept_steps ? fs::path(config.run.run_dir) : choose_run_directory(config.run.run_dir, model);
    return std::make_unique<RunDirectory>(path, kept_steps, config.job);
}

}  // namespace trireme::records
