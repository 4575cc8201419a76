#include "report/run_records.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "report/html.hpp"
#include "report/json_fields.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::report {
namespace {

namespace fs = std::filesystem;

Words content_of(const fs::path& path) {
    if (!fs::exists(path)) return std::nullopt;
    return read_regular_file(path);
}

std::optional<Json> object_in(const fs::path& path) {
    const Words text = content_of(path);
    if (!text) return std::nullopt;
    auto json = try_parse_json<Json>(*text, path.string());
    if (!json || !json->is_object()) {
        throw ConfigError(
            cat(path.string(), " is no JSON object; it is damaged: remove it to report what the rest says"));
    }
    return json;
}

StepRecord step_from(const JsonFields& line, double step) {
    return {.step = step,
            .loss = line.number("/loss"),
            .validation_loss = line.number("/validation_loss"),
            .validation_accuracy = line.number("/validation_accuracy"),
            .validation_exact_match = line.number("/validation_exact_match"),
            .validation_f1 = line.number("/validation_f1"),
            .tokens = line.number("/tokens"),
            .padded_tokens = line.number("/padded_tokens"),
            .seconds = line.number("/seconds"),
            .comm_wait_s = line.number("/comm_wait_s"),
            .tokens_per_s = line.number("/tokens_per_s"),
            .mfu = line.number("/mfu"),
            .mfu_causal = line.number("/mfu_causal"),
            .bubble = line.number("/bubble"),
            .bubble_schedule = line.number("/bubble_schedule"),
            .wait_tensor = line.number("/wait_tensor"),
            .wait_data = line.number("/wait_data"),
            .wait_other = line.number("/wait_other"),
            .grad_norm = line.number("/grad_norm"),
            .lr = line.number("/lr"),
            .peak_bytes = line.number("/peak_bytes"),
            .energy_j = line.number("/energy_j"),
            .is_skipped = line.is_set("/skipped")};
}

Summary summary_from(const JsonFields& f) {
    return {.is_final = true,
            .verdict = f.text("/verdict"),
            .reason = f.text("/reason"),
            .approximations = f.texts("/approximate"),
            .remarks = f.texts("/remarks"),
            .clock = f.text("/clock"),
            .steps = f.number("/steps"),
            .skipped_steps = f.number("/skipped_steps"),
            .rolled_back = f.number("/rolled_back_updates"),
            .first_loss = f.number("/loss/first"),
            .last_loss = f.number("/loss/last"),
            .validation_loss = f.number("/loss/validation"),
            .accuracy = f.number("/validation/accuracy"),
            .exact_match = f.number("/validation/exact_match"),
            .f1 = f.number("/validation/f1"),
            .seconds = f.number("/seconds"),
            .tokens = f.number("/tokens"),
            .tokens_per_s = f.number("/tokens_per_s"),
            .images_per_s = f.number("/images_per_s"),
            .padding = f.number("/padding/share"),
            .flops_per_s = f.number("/model_flops_per_s/value"),
            .peak_flops_per_s = f.number("/model_flops_per_s/limit"),
            .peak_is = f.text("/model_flops_per_s/limit_is"),
            .mfu = f.number("/mfu"),
            .mfu_causal = f.number("/mfu_causal"),
            .bubble = f.number("/bubble/measured"),
            .bubble_limit = f.number("/bubble/limit"),
            .bubble_schedule = f.number("/bubble_schedule/measured"),
            .wait_tensor = f.number("/wait_tensor/measured"),
            .wait_data = f.number("/wait_data/measured"),
            .wait_other = f.number("/wait_other/measured"),
            .mfu_formula = f.text("/mfu_formula"),
            .comm_wait_s = f.number("/comm_wait_s"),
            .energy_j = f.number("/energy_j"),
            .grown_bytes = f.number("/memory_bytes/growth"),
            .predicted_bytes = f.number("/memory_bytes/predicted")};
}

// "rank 3", or "each rank in turn (5 steps each)"
std::string slowed_subject(const JsonFields& f, const Json& record) {
    if (!record.contains("rank") || !record.at("rank").is_string()) {
        const Figure rank = f.number("/rank");
        return rank ? cat("rank ", significant(*rank)) : "rank";
    }
    const Figure every = f.number("/every");
    const std::string period = every ? plural(*every, "step") : "an epoch";
    if (f.text("/rank") == "turn") return cat("each rank in turn (", period, " each)");
    return cat("a rank drawn anew for ", period);
}

// "rank 3 to take 4 times as long from step 100 to 200"
std::string slowed_rank(const Json& record) {
    const JsonFields f(record, "manifest.json");
    if (const Words trace = f.text("/trace")) return cat("ranks as ", *trace, " says");
    const auto text = [&](const char* before, const char* field) {
        const Figure number = f.number(field);
        return number ? cat(before, significant(*number)) : std::string();
    };
    return cat(f.text("/on") == "products" ? "matrix products of " : "", slowed_subject(f, record), " to take",
               text(" ", "/factor"), text(" to ", "/highest_factor"), " times as long",
               text(" from step ", "/first_step"), text(" to ", "/last_step"));
}

Manifest manifest_from(const JsonFields& f, const Json& json) {
    Manifest manifest{.version = f.text("/version"),
                      .started = f.text("/started"),
                      .mpi = f.text("/mpi"),
                      .device = f.text("/device"),
                      .model = f.text("/model"),
                      .corpus = f.text("/corpus"),
                      .corpus_sha256 = f.text("/corpus_sha256"),
                      .schedule = f.text("/schedule"),
                      .plan = f.text("/plan"),
                      .dtype = f.text("/dtype"),
                      .sums = f.text("/sums"),
                      .ranks = f.number("/ranks"),
                      .threads_per_rank = f.number("/threads_per_rank"),
                      .measured_peak_flops = f.number("/measured_peak_flops"),
                      .parameters = f.number("/parameters"),
                      .batch = f.number("/batch"),
                      .microbatches = f.number("/microbatches"),
                      .tokens_of_image = f.number("/tokens_of_image"),
                      .layout = {},
                      .hosts = {},
                      .slowed = {}};
    if (json.contains("layout")) manifest.layout = layout_from_json(json.at("layout").dump(), "manifest.json");
    for (const Json& host : json.value("hosts", Json::array())) {
        if (host.is_string()) manifest.hosts.push_back(host);
    }
    for (const Json& each : json.value("slow", Json::array())) {
        if (each.is_object()) manifest.slowed.push_back(slowed_rank(each));
    }
    return manifest;
}

// Adds what ranks did in a step. The sums begin anew if the number of ranks changes.
void add_times_of_ranks(std::vector<RankSeconds>& ranks, const JsonFields& line, double seconds) {
    const std::vector<double> compute = line.numbers("/compute_s");
    const std::vector<double> stages = line.numbers("/wait_pipeline_s");
    const std::vector<double> tensor = line.numbers("/wait_tensor_s");
    const std::vector<double> data = line.numbers("/wait_data_s");
    const std::size_t count = compute.size();
    if (count == 0 || stages.size() != count || tensor.size() != count || data.size() != count) return;
    if (ranks.size() != count) ranks.assign(count, {});
    for (std::size_t rank = 0; rank < count; ++rank) {
        RankSeconds& sum = ranks[rank];
        sum.compute += compute[rank];
        sum.stages += stages[rank];
        sum.tensor += tensor[rank];
        sum.data += data[rank];
        sum.rest += std::max(0.0, seconds - compute[rank] - stages[rank] - tensor[rank] - data[rank]);
    }
}

// Notes when ranks become slow and when they recover.
class SlowEvents {
public:
    void add(std::vector<RunEvent>& events, double step, const std::vector<double>& slowness) {
        slow_.resize(std::max(slow_.size(), slowness.size()));
        for (std::size_t rank = 0; rank < slow_.size(); ++rank) {
            const double factor = rank < slowness.size() ? slowness[rank] : 1;
            const bool is_slow = factor > 1;
            if (is_slow != slow_[rank])
                events.push_back({RunEvent::slow_rank, step,
                                  is_slow ? cat("rank ", rank, " takes ", significant(factor), " times as long")
                                          : cat("rank ", rank, " is as fast as others again")});
            slow_[rank] = is_slow;
        }
    }

private:
    std::vector<bool> slow_;
};

// The number of steps between checkpoints, from config.ini. 0 means at the end only.
double checkpoint_period(const Words& config) {
    constexpr std::string_view name = "\ncheckpoint-every = ";
    const std::size_t at = config ? config->find(name) : std::string::npos;
    return at == std::string::npos ? 0 : std::strtod(config->c_str() + at + name.size(), nullptr);
}

void add_events(RunRecords& records) {
    for (const Decision& decision : records.decisions)
        records.events.push_back({RunEvent::plan_change, static_cast<double>(decision.step), decision.reason});
    for (const StepRecord& line : records.evaluations)
        records.events.push_back({RunEvent::evaluation, line.step, "evaluation"});
    const double period = checkpoint_period(records.config);
    if (records.steps.empty() || period < 1) return;
    const double first = records.steps.front().step, last = records.steps.back().step;
    for (double step = std::ceil(first / period) * period; step <= last; step += period)
        records.events.push_back({RunEvent::checkpoint, step, "checkpoint"});
}

void add_line(RunRecords& records, SlowEvents& slow, const Json& json, const std::string& place) {
    if (!json.is_object())
        throw ConfigError(cat(place, " is not a JSON object; correct the line or remove it"));
    const JsonFields fields(json, place);
    const Figure step = fields.number("/step");
    if (!step) throw ConfigError(cat(place, " has no step; correct the line or remove it"));
    const StepRecord record = step_from(fields, *step);
    const bool is_evaluation = record.validation_loss || !record.seconds;
    (is_evaluation ? records.evaluations : records.steps).push_back(record);
    if (is_evaluation) return;
    add_times_of_ranks(records.ranks, fields, *record.seconds);
    slow.add(records.events, *step, fields.numbers("/slowness"));
}

void add_lines(RunRecords& records, const std::string& text, const fs::path& path) {
    SlowEvents slow;
    std::size_t begin = 0;
    for (std::size_t number = 1; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string place = cat(path.string(), ", line ", number);
        const auto json = try_parse_json<Json>(std::string_view(text).substr(begin, end - begin), place);
        const bool is_unfinished = end == text.size() && !json;
        if (!is_unfinished) add_line(records, slow, json.value_or(Json()), place);
        begin = end + 1;
    }
}

// Without a line that is not finished.
std::vector<Decision> decisions_in(const fs::path& path) {
    const Words text = content_of(path);
    if (!text) return {};
    return decisions_from_jsonl(text->substr(0, text->rfind('\n') + 1), path.string());
}

}  // namespace

RunRecords read_run(const fs::path& directory) {
    if (!fs::exists(directory)) {
        throw ConfigError(cat("the run directory ", directory.string(), " does not exist; `trireme train` ",
                              "says at its end where it wrote to"));
    }
    const fs::path steps = directory / "steps.jsonl";
    const Words lines = content_of(steps);
    if (!lines) {
        throw ConfigError(cat(directory.string(), " is no run directory: it holds no steps.jsonl; name the ",
                              "directory that `trireme train` wrote to"));
    }
    RunRecords records{.name = fs::weakly_canonical(directory).filename().string(),
                       .manifest = {},
                       .summary = {},
                       .steps = {},
                       .evaluations = {},
                       .decisions = decisions_in(directory / "decisions.jsonl"),
                       .ranks = {},
                       .events = {},
                       .config = content_of(directory / "config.ini"),
                       .trace = {}};
    add_lines(records, *lines, steps);
    add_events(records);
    const fs::path manifest = directory / "manifest.json";
    if (const auto json = object_in(manifest)) {
        records.manifest = manifest_from(JsonFields(*json, manifest.string()), *json);
    }
    const fs::path summary = directory / "summary.json";
    if (const auto json = object_in(summary)) {
        records.summary = summary_from(JsonFields(*json, summary.string()));
    }
    const fs::path trace = directory / "trace.json";
    if (const auto json = object_in(trace)) records.trace = trace_from(*json, trace.string());
    return records;
}

}  // namespace trireme::report
