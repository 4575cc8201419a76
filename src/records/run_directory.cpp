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

namespace trireme {
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

// A number that is none has no place in JSON: its field is left out.
void add_if_finite(Json& record, const char* field, double value) {
    if (std::isfinite(value)) record[field] = value;
}

// Paths may hold bytes that are no UTF-8.
std::string text_of(const Json& json, int indent = -1) {
    return json.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

const char* clock_name() { return time_is_simulated() ? "simulated" : "wall"; }

void add_scores(Json& record, const Evaluation& e, const std::string& prefix) {
    if (e.accuracy) record[prefix + "accuracy"] = *e.accuracy;
    if (e.exact_match) record[prefix + "exact_match"] = *e.exact_match;
    if (e.f1) record[prefix + "f1"] = *e.f1;
}

void add_times_of_ranks(Json& record, const std::vector<RankTimes>& ranks) {
    for (const RankTimes& times : ranks) {
        record["compute_s"].push_back(times.busy());
        record["products_s"].push_back(times.products);
        record["wait_s"].push_back(times.waits.sum());
        record["wait_pipeline_s"].push_back(times.waits.pipeline);
        record["wait_tensor_s"].push_back(times.waits.tensor);
        record["wait_data_s"].push_back(times.waits.data);
    }
}

void add_states(Json& record, const GpuStates& gpus) {
    const auto add = [&](const char* field, const std::vector<double>& of_ranks) {
        if (!of_ranks.empty()) record["gpus"][field] = of_ranks;
    };
    add("watts", gpus.watts);
    add("clock_mhz", gpus.clock_mhz);
    add("memory_clock_mhz", gpus.memory_clock_mhz);
    add("celsius", gpus.celsius);
    add("used_bytes", gpus.used_bytes);
}

Json step_record(std::size_t step, const StepOutcome& outcome, const ModelFlops& flops, double peak_flops) {
    const double available = outcome.seconds * peak_flops;
    Json record{{"step", step}};
    add_if_finite(record, "loss", outcome.loss);
    record["tokens"] = outcome.size.tokens;
    record["padded_tokens"] = outcome.padded_tokens;
    record["seconds"] = outcome.seconds;
    record["clock"] = clock_name();
    record["tokens_per_s"] = static_cast<double>(outcome.size.tokens) / outcome.seconds;
    record["mfu"] = flops.of_step(outcome.size) / available;
    if (flops.is_causal) record["mfu_causal"] = flops.of_step(outcome.size, 6) / available;
    record["bubble"] = 1 - outcome.compute_seconds / outcome.seconds;
    const BubbleParts parts = parts_of_bubble(outcome.seconds, outcome.compute_seconds, outcome.waits);
    record["bubble_schedule"] = parts.schedule;
    record["wait_tensor"] = parts.wait_tensor;
    record["wait_data"] = parts.wait_data;
    record["wait_other"] = parts.wait_other;
    if (outcome.ranks.size() > 1) add_times_of_ranks(record, outcome.ranks);
    if (!outcome.slowness.empty()) record["slowness"] = outcome.slowness;
    record["comm_wait_s"] = outcome.waits.sum();
    if (!outcome.joules_of_ranks.empty()) record["energy_j"] = sum_of(outcome.joules_of_ranks);
    add_states(record, outcome.gpus);
    add_if_finite(record, "grad_norm", outcome.gradient_norm);
    record["lr"] = outcome.rate;
    if (outcome.peak_bytes > 0) record["peak_bytes"] = outcome.peak_bytes;
    if (outcome.is_skipped) record["skipped"] = true;
    if (!outcome.non_finite.empty()) record["non_finite"] = outcome.non_finite;
    if (outcome.is_rolled_back) record["rolled_back"] = *outcome.is_rolled_back;
    return record;
}

Json summary_of(const Figures& f, const std::string& peak_is, std::size_t tokens_of_image) {
    Json summary{{"verdict", f.complaint.empty() ? "VALID" : "INVALID"}};
    if (!f.complaint.empty()) summary["reason"] = f.complaint;
    if (!f.approximations.empty()) summary["approximate"] = f.approximations;
    if (!f.remarks.empty()) summary["remarks"] = f.remarks;
    if (!f.slowed.empty()) summary["slowed_on_purpose"] = f.slowed;
    if (f.stopped) summary["stopped"] = {{"behind_step", f.stopped->step}, {"because", f.stopped->because}};
    summary["clock"] = clock_name();
    summary["steps"] = f.steps;
    if (f.earlier_steps > 0) summary["earlier_steps"] = f.earlier_steps;
    summary["skipped_steps"] = f.skipped_steps;
    if (f.rolled_back) summary["rolled_back_updates"] = *f.rolled_back;
    if (f.first_loss) summary["loss"] = {{"first", *f.first_loss}, {"last", *f.last_loss}};
    if (f.validation) {
        add_if_finite(summary["loss"], "validation", f.validation->loss);
        Json scores = Json::object();
        add_scores(scores, *f.validation, "");
        if (!scores.empty()) summary["validation"] = scores;
    }
    summary["seconds"] = f.seconds;
    summary["step_s"] = {{"median", f.median_step_seconds}, {"last", f.last_step_seconds}};
    summary["tokens"] = f.tokens;
    summary["tokens_per_s"] = f.tokens_per_second();
    if (tokens_of_image > 0)
        summary["images_per_s"] = f.tokens_per_second() / static_cast<double>(tokens_of_image);
    summary["padding"] = {{"share", 1 - static_cast<double>(f.tokens) / static_cast<double>(f.padded_tokens)},
                          {"limit", 0}};
    summary["model_flops_per_s"] = {
        {"value", f.flops / f.seconds}, {"limit", f.peak_flops}, {"limit_is", peak_is}};
    summary["peak_is"] = peak_is;
    summary["mfu"] = f.mfu();
    if (f.mfu_causal()) summary["mfu_causal"] = *f.mfu_causal();
    summary["mfu_formula"] = "(6N + 12 L h mean squared length / mean length) tokens / (seconds peak)";
    summary["bubble"] = {{"measured", f.bubble()},
                         {"limit", f.bubble_limit},
                         {"limit_is", "the schedule's, were all stages equal"}};
    const BubbleParts parts = f.bubble_parts();
    summary["bubble_schedule"] = {{"measured", parts.schedule},
                                  {"limit", f.bubble_limit},
                                  {"limit_is", "the schedule's, were all stages equal"}};
    summary["wait_tensor"] = {{"measured", parts.wait_tensor}, {"limit", 0}};
    summary["wait_data"] = {{"measured", parts.wait_data}, {"limit", 0}};
    summary["wait_other"] = {{"measured", parts.wait_other}, {"limit", 0}};
    summary["comm_wait_s"] = f.waits.sum();
    if (f.joules()) {
        summary["energy_j"] = *f.joules();
        summary["energy_j_of_ranks"] = f.joules_of_ranks;
    }
    if (f.saves > 0)
        summary["saving"] = {
            {"checkpoints", f.saves}, {"stall_s", f.save_seconds}, {"waited_s", f.save_wait_seconds}};
    if (f.plan_changes > 0) {
        summary["plan_changes"] = {
            {"count", f.plan_changes}, {"seconds", f.change_seconds}, {"moved_bytes", f.moved_bytes}};
    }
    if (f.looks > 0) {
        summary["looks"] = {
            {"count", f.looks}, {"seconds", f.look_seconds}, {"share_of_steps", f.look_seconds / f.seconds}};
    }
    if (f.grown_bytes) summary["memory_bytes"]["growth"] = *f.grown_bytes;
    summary["memory_bytes"]["predicted"] = f.predicted_bytes;
    return summary;
}

Json slow_record(const SlowRank& slow) {
    if (slow.choice == SlowChoice::trace) return {{"trace", slow.trace}};
    Json record{{"rank", slow.rank}, {"factor", slow.factor}};
    if (slow.choice != SlowChoice::named) record["rank"] = slow.choice == SlowChoice::turn ? "turn" : "random";
    if (slow.highest_factor) record["highest_factor"] = *slow.highest_factor;
    record["first_step"] = slow.first_step;
    if (slow.last_step) record["last_step"] = *slow.last_step;
    if (slow.every) record["every"] = *slow.every;
    if (slow.on == SlowKernels::products) record["on"] = "products";
    return record;
}

Json slow_records(const std::vector<SlowRank>& slow) {
    Json records = Json::array();
    for (const SlowRank& each : slow) records.push_back(slow_record(each));
    return records;
}

std::ofstream opened(const fs::path& path) {
    std::ofstream file(path, std::ios::app);
    if (file) return file;
    throw ConfigError(
        cat(path.string(), " cannot be written: ", std::strerror(errno), "; choose another --run-dir"));
}

// RunLock checks its own file.
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

// The verdict of an earlier start says nothing about this one.
void RunDirectory::keep_records_of(std::size_t steps) {
    add_remarks(keep_records(path_ / "steps.jsonl", steps));
    // One that was followed behind the last of the steps will be followed again.
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

void RunDirectory::write_manifest(const Manifest& m) {
    Json json{{"version", m.version},
              {"started", m.started},
              {"mpi", m.mpi_library},
              {"ranks", m.hosts.size()},
              {"hosts", m.hosts},
              {"device", m.device},
              {"threads_per_rank", m.threads},
              {m.peak.is_measured ? "measured_peak_flops" : "peak_flops", m.peak.flops},
              {"peak_is", m.peak.is},
              {"model", m.model},
              {"parameters", m.parameters},
              {"batch", m.batch},
              {"microbatches", m.micro_batches},
              {"dtype", m.dtype},
              {"sums", m.sums},
              {"corpus", m.corpus},
              {"corpus_sha256", m.corpus_checksum}};
    if (m.tokens_of_image > 0) json["tokens_of_image"] = m.tokens_of_image;
    if (!m.cores.empty()) json["cores"] = m.cores;
    if (!m.plan.empty()) {
        json["layout"] = Json::parse(m.layout);
        json["schedule"] = m.schedule;
        json["plan"] = m.plan;
    }
    if (!m.resumed_from.empty()) json["resumed_from"] = m.resumed_from;
    if (!m.gpu_messages.empty()) json["gpu_messages"] = m.gpu_messages;
    if (!m.kernel_times.empty()) json["kernel_times"] = m.kernel_times;
    if (!m.gpu_driver.empty()) json["gpu_driver"] = m.gpu_driver;
    if (!m.ranks_of_gpu.empty()) json["ranks_of_gpu"] = m.ranks_of_gpu;
    if (!m.slow.empty()) json["slow"] = slow_records(m.slow);
    peak_is_ = m.peak.is;
    tokens_of_image_ = m.tokens_of_image;
    plan_ = m.plan;
    write_file("manifest.json", text_of(json, 2));
}

void RunDirectory::add_step(std::size_t step, const StepOutcome& outcome, const ModelFlops& flops,
                            double peak_flops) {
    Json record = step_record(step, outcome, flops, peak_flops);
    if (!plan_.empty()) record["plan"] = plan_;
    add_line(steps_, "steps.jsonl", text_of(record));
}

void RunDirectory::add_decision(const Decision& decision) {
    add_to_decisions(json_of(decision));
    plan_ = decision.to;
}

void RunDirectory::add_no_change(std::size_t step, const std::string& why) {
    add_to_decisions(json_of_no_change(step, why));
}

void RunDirectory::add_to_decisions(const std::string& line) {
    constexpr const char* name = "decisions.jsonl";
    if (!decisions_.is_open())
        decisions_.open(path_ / name, keeps_decisions_ ? std::ios::app : std::ios::trunc);
    add_line(decisions_, name, line + "\n");
}

void RunDirectory::add_evaluation(std::size_t step, const Evaluation& evaluation) {
    Json record{{"step", step}};
    add_if_finite(record, "validation_loss", evaluation.loss);
    add_scores(record, evaluation, "validation_");
    add_line(steps_, "steps.jsonl", text_of(record));
}

void RunDirectory::write_summary(const Figures& figures) {
    write_file("summary.json", text_of(summary_of(figures, peak_is_, tokens_of_image_), 2));
}

void RunDirectory::write_stopped(const EarlyEnd& end) {
    write_file("stopped", text_of(Json{{"step", end.step}, {"because", end.because}}));
}

void RunDirectory::write_file(const char* name, const std::string& text) const {
    const fs::path path = path_ / name;
    if (!fs::is_directory(path_))
        throw ResourceError(cat("the run directory ", path_.string(), " is gone, and ", name,
                                " cannot be written; was it removed during the run?"));
    PartialFile file(path);
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
    const bool can_go_on = newest_checkpoint(path / checkpoints_folder).has_value();
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

std::unique_ptr<RunDirectory> open_run_directory(const RunConfig& config, const std::string& model,
                                                 std::optional<std::size_t> kept_steps) {
    const fs::path path =
        kept_steps ? fs::path(config.run.run_dir) : chosen_run_directory(config.run.run_dir, model);
    return std::make_unique<RunDirectory>(path, kept_steps, config.job);
}

}  // namespace trireme
