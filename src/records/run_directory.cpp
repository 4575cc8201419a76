#include "trireme/records/run_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "records/kept_records.hpp"
#include "records/run_starts.hpp"
#include "trireme/archive/partial_file.hpp"
#include "trireme/base/error.hpp"
#include "trireme/checkpoint/stored_model.hpp"
#include "trireme/device/clock.hpp"

namespace trireme::records {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

const fs::path& created(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error || !fs::is_directory(path)) {
        throw ConfigError(cat("the run directory ", path.string(),
                              " cannot be made: ", error ? error.message() : "a file is in its place",
                              "; choose another --run-dir"));
    }
    return path;
}

// JSON has no numbers that are not finite, so their fields are omitted.
Figure finite(double value) { return std::isfinite(value) ? Figure(value) : std::nullopt; }

double figure(std::size_t count) { return static_cast<double>(count); }

// A count of 0 is omitted.
Figure positive(std::size_t count) { return count > 0 ? Figure(figure(count)) : std::nullopt; }

// Replaces invalid bytes, because paths may contain bytes that are not UTF-8.
std::string dump_json(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

const char* clock_name() { return device::time_is_simulated() ? "simulated" : "wall"; }

RankLists lists_by_rank(const std::vector<plan::RankTimes>& ranks) {
    RankLists lists;
    if (ranks.size() < 2) return lists;
    for (const plan::RankTimes& times : ranks) {
        lists.compute_s.push_back(times.busy());
        lists.products_s.push_back(times.products);
        lists.wait_s.push_back(times.waits.sum());
        lists.wait_pipeline_s.push_back(times.waits.pipeline);
        lists.wait_tensor_s.push_back(times.waits.tensor);
        lists.wait_data_s.push_back(times.waits.data);
    }
    return lists;
}

StepLine describe_step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                       double peak_flops) {
    const double available = outcome.seconds * peak_flops;
    const BubbleParts parts = parts_of_bubble(outcome.seconds, outcome.compute_seconds, outcome.waits);
    const std::vector<double>& joules = outcome.joules_of_ranks;
    StepLine line;
    line.step = figure(step);
    line.loss = finite(outcome.loss);
    line.tokens = figure(outcome.size.tokens);
    line.padded_tokens = figure(outcome.padded_tokens);
    line.seconds = outcome.seconds;
    line.clock = clock_name();
    line.tokens_per_s = figure(outcome.size.tokens) / outcome.seconds;
    line.mfu = flops.of_step(outcome.size) / available;
    if (flops.is_causal) line.mfu_causal = flops.of_step(outcome.size, 6) / available;
    line.bubble = 1 - outcome.compute_seconds / outcome.seconds;
    line.bubble_schedule = parts.schedule;
    line.wait_tensor = parts.wait_tensor;
    line.wait_data = parts.wait_data;
    line.wait_other = parts.wait_other;
    line.ranks = lists_by_rank(outcome.ranks);
    line.ranks.slowness = outcome.slowness;
    line.comm_wait_s = outcome.waits.sum();
    if (!joules.empty()) line.energy_j = std::accumulate(joules.begin(), joules.end(), 0.0);
    line.gpus = outcome.gpus;
    line.grad_norm = finite(outcome.gradient_norm);
    line.lr = outcome.rate;
    line.peak_bytes = positive(outcome.peak_bytes);
    line.is_skipped = outcome.is_skipped;
    line.non_finite = outcome.non_finite;
    line.is_rolled_back = outcome.is_rolled_back;
    return line;
}

void add_verdict(Summary& summary, const Figures& f) {
    summary.verdict = f.complaint.empty() ? "VALID" : "INVALID";
    summary.reason = f.complaint;
    summary.approximations = f.approximations;
    summary.remarks = f.remarks;
    summary.slowed = f.slowed;
    if (!f.stopped) return;
    summary.stopped_behind = figure(f.stopped->step);
    summary.stopped_because = f.stopped->because;
}

void add_losses(Summary& summary, const Figures& f) {
    summary.first_loss = f.first_loss;
    summary.last_loss = f.last_loss;
    if (!f.validation) return;
    summary.validation_loss = finite(f.validation->loss);
    summary.accuracy = f.validation->accuracy;
    summary.exact_match = f.validation->exact_match;
    summary.f1 = f.validation->f1;
}

void add_speed(Summary& summary, const Figures& f, std::optional<std::size_t> tokens_of_image) {
    summary.seconds = f.seconds;
    summary.median_step_s = f.median_step_seconds;
    summary.last_step_s = f.last_step_seconds;
    summary.tokens = figure(f.tokens);
    summary.tokens_per_s = f.tokens_per_second();
    if (tokens_of_image) summary.images_per_s = f.tokens_per_second() / figure(*tokens_of_image);
    summary.padding = 1 - figure(f.tokens) / figure(f.padded_tokens);
    summary.flops_per_s = f.flops / f.seconds;
    summary.peak_flops_per_s = f.peak_flops;
    summary.mfu = f.mfu();
    summary.mfu_causal = f.mfu_causal();
    summary.mfu_formula = "(6N + 12 L h mean squared length / mean length) tokens / (seconds peak)";
}

void add_waits(Summary& summary, const Figures& f) {
    const BubbleParts parts = f.bubble_parts();
    summary.bubble = f.bubble();
    summary.bubble_limit = f.bubble_limit;
    summary.bubble_schedule = parts.schedule;
    summary.wait_tensor = parts.wait_tensor;
    summary.wait_data = parts.wait_data;
    summary.wait_other = parts.wait_other;
    summary.comm_wait_s = f.waits.sum();
}

// Adds costs that are not part of the steps.
void add_costs(Summary& summary, const Figures& f) {
    summary.energy_j = f.joules();
    summary.energy_j_of_ranks = f.joules_of_ranks;
    if (f.saves > 0) {
        summary.checkpoints = figure(f.saves);
        summary.save_stall_s = f.save_seconds;
        summary.save_waited_s = f.save_wait_seconds;
    }
    if (f.plan_changes > 0) {
        summary.plan_changes = figure(f.plan_changes);
        summary.plan_change_s = f.change_seconds;
        summary.moved_bytes = figure(f.moved_bytes);
    }
    if (f.looks > 0) {
        summary.looks = figure(f.looks);
        summary.look_s = f.look_seconds;
        summary.look_share = f.look_seconds / f.seconds;
    }
    if (f.grown_bytes) summary.grown_bytes = figure(*f.grown_bytes);
    summary.predicted_bytes = figure(f.predicted_bytes);
}

Summary summarise(const Figures& f, const std::string& peak_is, std::optional<std::size_t> tokens_of_image) {
    Summary summary;
    add_verdict(summary, f);
    summary.clock = clock_name();
    summary.steps = figure(f.steps);
    summary.earlier_steps = positive(f.earlier_steps);
    summary.skipped_steps = figure(f.skipped_steps);
    if (f.rolled_back) summary.rolled_back = figure(*f.rolled_back);
    add_losses(summary, f);
    add_speed(summary, f, tokens_of_image);
    summary.peak_is = peak_is;
    add_waits(summary, f);
    add_costs(summary, f);
    return summary;
}

std::ofstream opened(const fs::path& path) {
    std::ofstream file(path, std::ios::app);
    if (file) return file;
    throw ConfigError(
        cat(path.string(), " cannot be written: ", std::strerror(errno), "; choose another --run-dir"));
}

// Refuses symbolic links in place of the run's files, and returns `path`. RunLock checks its own file.
const fs::path& without_links(const fs::path& path) {
    for (const char* name : {"starts.jsonl", "config.ini", "manifest.json", "steps.jsonl", "decisions.jsonl",
                             "summary.json", "stopped"}) {
        std::error_code error;
        if (fs::is_symlink(fs::symlink_status(path / name, error))) refuse_link(path / name);
    }
    return path;
}

}  // namespace

std::string now_text() {
    const std::time_t now = std::time(nullptr);
    std::array<char, 32> text{};
    std::tm utc{};
    gmtime_r(&now, &utc);
    std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text.data();
}

RunDirectory::RunDirectory(const fs::path& path, std::optional<std::size_t> kept_steps, const SlurmJob& job)
    : path_(without_links(created(path))),
      lock_(path / "lock", words_of_holder(job)),
      keeps_decisions_(kept_steps && fs::exists(path / "decisions.jsonl")) {
    if (!lock_.complaint().empty()) add_remarks({lock_.complaint()});
    if (!kept_steps) refuse_used(path);
    note_start(path / "starts.jsonl", job, kept_steps.value_or(0));
    if (kept_steps) keep_records_of(*kept_steps);
    steps_ = opened(path / "steps.jsonl");
}

// Removes the verdict of the earlier start, which does not apply to this one.
void RunDirectory::keep_records_of(std::size_t steps) {
    add_remarks(keep_records(path_ / "steps.jsonl", steps));
    // A decision that took effect after the last kept step will be made again.
    const std::size_t decided = std::max<std::size_t>(steps, 1) - 1;
    add_remarks(keep_records(path_ / "decisions.jsonl", decided));
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
    peak_is_ = manifest.peak.is;
    tokens_of_image_ = manifest.tokens_of_image;
    plan_ = manifest.plan;
    write_file("manifest.json", dump_json(to_json(manifest), 2));
}

void RunDirectory::add_step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                            double peak_flops) {
    StepLine line = describe_step(step, outcome, flops, peak_flops);
    line.plan = plan_;
    add_line(steps_, "steps.jsonl", dump_json(to_json(line)));
}

void RunDirectory::add_decision(const plan::Decision& decision) {
    add_to_decisions(json_of(decision));
    plan_ = decision.to;
}

void RunDirectory::add_no_change(std::size_t step, const std::string& why) {
    add_to_decisions(plan::json_of_no_change(step, why));
}

void RunDirectory::add_to_decisions(const std::string& line) {
    constexpr const char* name = "decisions.jsonl";
    if (!decisions_.is_open())
        decisions_.open(path_ / name, keeps_decisions_ ? std::ios::app : std::ios::trunc);
    add_line(decisions_, name, line + "\n");
}

void RunDirectory::add_evaluation(std::size_t step, const Evaluation& evaluation) {
    const EvaluationLine line{.step = figure(step),
                              .loss = finite(evaluation.loss),
                              .accuracy = evaluation.accuracy,
                              .exact_match = evaluation.exact_match,
                              .f1 = evaluation.f1};
    add_line(steps_, "steps.jsonl", dump_json(to_json(line)));
}

void RunDirectory::write_summary(const Figures& figures) {
    write_file("summary.json", dump_json(to_json(summarise(figures, peak_is_, tokens_of_image_)), 2));
}

void RunDirectory::write_stopped(const EarlyEnd& end) { write_file("stopped", dump_json(to_json(end))); }

void RunDirectory::write_file(const char* name, const std::string& text) const {
    const fs::path path = path_ / name;
    if (!fs::is_directory(path_))
        throw ResourceError(cat("the run directory ", path_.string(), " is gone, and ", name,
                                " cannot be written; was it removed during the run?"));
    archive::PartialFile file(path);
    std::ofstream out(file.partial_path());
    out << text << std::flush;
    if (!out) throw ResourceError(cat(path.string(), " could not be written; is the disk full?"));
    file.keep(text.size());
}

void RunDirectory::add_line(std::ofstream& file, const char* name, const std::string& line) const {
    file << line << std::flush;
    if (!file) throw ResourceError(cat((path_ / name).string(), " could not be written; is the disk full?"));
}

void refuse_used(const fs::path& path) {
    std::error_code error;
    const auto size = fs::file_size(path / "steps.jsonl", error);
    if (path.empty() || error || size == 0) return;
    const bool can_go_on = checkpoint::newest_checkpoint(path / checkpoint::checkpoints_folder).has_value();
    throw ConfigError(cat("the run directory ", path.string(), " already holds the steps of an earlier run; ",
                          can_go_on ? "continue that run with --resume auto, or " : "",
                          "choose another --run-dir"));
}

fs::path make_default_run_directory(const std::string& model) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
    const std::string name = cat(model, "-", text.data());
    created("runs");
    fs::path path = fs::path("runs") / name;
    std::error_code error;
    for (int run = 2; !fs::create_directory(path, error) && !error; ++run)
        path = fs::path("runs") / cat(name, "-", run);
    return path;
}

fs::path chosen_run_directory(const std::string& wished, const std::string& model) {
    return wished.empty() ? make_default_run_directory(model) : fs::path(wished);
}

std::unique_ptr<RunDirectory> open_run_directory(const config::RunConfig& config, const std::string& model,
                                                 std::optional<std::size_t> kept_steps) {
    const fs::path path =
        kept_steps ? fs::path(config.run.run_dir) : chosen_run_directory(config.run.run_dir, model);
    return std::make_unique<RunDirectory>(path, kept_steps, config.job);
}

}  // namespace trireme::records
