#include "run_directory.hpp"

#include <array>
#include <ctime>
#include <nlohmann/json.hpp>

#include "trireme/base/error.hpp"
#include "trireme/device/machine.hpp"

namespace trireme {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

void create_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error || !fs::is_directory(path)) {
        throw ConfigError(cat("the run directory ", path.string(),
                              " cannot be made: ", error ? error.message() : "a file is in its place",
                              "; choose another --run-dir"));
    }
}

void refuse_used(const fs::path& steps) {
    std::error_code error;
    const auto size = fs::file_size(steps, error);
    if (!error && size > 0) {
        throw ConfigError(cat("the run directory ", steps.parent_path().string(),
                              " already holds the steps of an earlier run; choose another --run-dir"));
    }
}

Json step_record(std::size_t step, const StepOutcome& outcome, const ModelFlops& flops, double peak_flops) {
    const double available = outcome.seconds * peak_flops;
    Json record{{"step", step},
                {"loss", outcome.loss},
                {"tokens", outcome.tokens},
                {"padded_tokens", outcome.padded_tokens},
                {"seconds", outcome.seconds},
                {"clock", "wall"},
                {"tokens_per_s", static_cast<double>(outcome.tokens) / outcome.seconds},
                {"mfu", flops.of_step(outcome.tokens, outcome.square_length_sum) / available},
                {"mfu_causal", flops.of_step(outcome.tokens, outcome.square_length_sum, 6) / available},
                {"bubble", 1 - outcome.compute_seconds / outcome.seconds},
                {"comm_wait_s", outcome.wait_seconds},
                {"grad_norm", outcome.gradient_norm},
                {"lr", outcome.rate},
                {"peak_bytes", peak_resident_bytes()}};
    if (outcome.is_skipped) record["skipped"] = true;
    return record;
}

Json summary_of(const Figures& f) {
    Json summary{{"verdict", f.complaint.empty() ? "VALID" : "INVALID"}};
    if (!f.complaint.empty()) summary["reason"] = f.complaint;
    summary["clock"] = "wall";
    summary["steps"] = f.steps;
    summary["skipped_steps"] = f.skipped_steps;
    summary["loss"] = {{"first", f.first_loss}, {"last", f.last_loss}};
    if (f.validation_loss) summary["loss"]["validation"] = *f.validation_loss;
    summary["seconds"] = f.seconds;
    summary["tokens"] = f.tokens;
    summary["tokens_per_s"] = f.tokens_per_second();
    summary["padding"] = {{"share", 1 - static_cast<double>(f.tokens) / static_cast<double>(f.padded_tokens)},
                          {"limit", 0}};
    summary["model_flops_per_s"] = {{"value", f.flops / f.seconds},
                                    {"limit", f.peak_flops},
                                    {"limit_is", "measured FMA rate of all ranks"}};
    summary["mfu"] = f.mfu();
    summary["mfu_causal"] = f.mfu_causal();
    summary["mfu_formula"] = "(6N + 12 L h mean squared length / mean length) tokens / (seconds peak)";
    summary["bubble"] = {{"measured", f.bubble()}, {"limit", 0}};
    summary["comm_wait_s"] = f.wait_seconds;
    summary["memory_bytes"] = {{"growth", f.grown_bytes}, {"predicted", f.predicted_bytes}};
    return summary;
}

}  // namespace

RunDirectory::RunDirectory(const fs::path& path) : path_(path) {
    create_folder(path);
    refuse_used(path / "steps.jsonl");
    steps_.open(path / "steps.jsonl", std::ios::app);
    if (!steps_) throw ConfigError(cat("the run directory ", path.string(), " cannot be written to"));
}

void RunDirectory::write_config(const std::string& ini) { write_file("config.ini", ini); }

void RunDirectory::write_manifest(const Manifest& m) {
    const Json json{{"version", m.version},
                    {"started", m.started},
                    {"mpi", m.mpi_library},
                    {"ranks", m.hosts.size()},
                    {"hosts", m.hosts},
                    {"device", m.device},
                    {"threads_per_rank", m.threads},
                    {"measured_peak_flops", m.peak_flops},
                    {"model", m.model},
                    {"parameters", m.parameters},
                    {"corpus", m.corpus},
                    {"corpus_sha256", m.corpus_checksum}};
    write_file("manifest.json", json.dump(2) + "\n");
}

void RunDirectory::add_step(std::size_t step, const StepOutcome& outcome, const ModelFlops& flops,
                            double peak_flops) {
    add_line(step_record(step, outcome, flops, peak_flops).dump());
}

void RunDirectory::add_evaluation(std::size_t step, double loss) {
    add_line(Json{{"step", step}, {"validation_loss", loss}}.dump());
}

void RunDirectory::write_summary(const Figures& figures) {
    write_file("summary.json", summary_of(figures).dump(2) + "\n");
}

void RunDirectory::write_file(const char* name, const std::string& text) const {
    std::ofstream file(path_ / name);
    file << text << std::flush;
    if (!file) throw ResourceError(cat((path_ / name).string(), " could not be written; is the disk full?"));
}

void RunDirectory::add_line(const std::string& line) {
    steps_ << line << '\n' << std::flush;
    if (!steps_) {
        throw ResourceError(cat((path_ / "steps.jsonl").string(), " could not be written; is the disk full?"));
    }
}

fs::path default_run_directory(const std::string& model) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
    return fs::path("runs") / cat(model, "-", text.data());
}

}  // namespace trireme
