#include "report/run_records.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "report/html.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/json_text.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::report {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

Words content_of(const fs::path& path) {
    if (!fs::exists(path)) return std::nullopt;
    return read_regular_file(path);
}

std::optional<Json> object_in(const fs::path& path) {
    const Words text = content_of(path);
    if (!text) return std::nullopt;
    auto json = try_parse_json<Json>(*text);
    if (!json || !json->is_object()) {
        throw ConfigError(
            cat(path.string(), " is no JSON object; it is damaged: remove it to report what the rest says"));
    }
    return json;
}

// Adds the times of ranks in a step. Restarts the sums if the number of ranks changes.
void add_times_of_ranks(std::vector<RankSeconds>& ranks, const records::RankLists& lists, double seconds) {
    const std::vector<double>& compute = lists.compute_s;
    const std::vector<double>& stages = lists.wait_pipeline_s;
    const std::vector<double>& tensor = lists.wait_tensor_s;
    const std::vector<double>& data = lists.wait_data_s;
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

// Records an event when a rank becomes slow and when it recovers.
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

// Returns the number of steps between checkpoints from config.ini; 0 if they are only at the end.
double checkpoint_period(const Words& config) {
    constexpr std::string_view name = "\ncheckpoint-every = ";
    const std::size_t at = config ? config->find(name) : std::string::npos;
    return at == std::string::npos ? 0 : std::strtod(config->c_str() + at + name.size(), nullptr);
}

void add_events(RunRecords& records) {
    for (const plan::Decision& decision : records.decisions)
        records.events.push_back({RunEvent::plan_change, static_cast<double>(decision.step), decision.reason});
    for (const records::EvaluationLine& line : records.evaluations)
        records.events.push_back({RunEvent::evaluation, *line.step, "evaluation"});
    const double period = checkpoint_period(records.config);
    if (records.steps.empty() || period < 1) return;
    const double first = *records.steps.front().step, last = *records.steps.back().step;
    for (double step = std::ceil(first / period) * period; step <= last; step += period)
        records.events.push_back({RunEvent::checkpoint, step, "checkpoint"});
}

void add_line(RunRecords& records, SlowEvents& slow, const Json& json, const std::string& place) {
    if (!json.is_object())
        throw ConfigError(cat(place, " is not a JSON object; correct the line or remove it"));
    records::StepLine line = records::read_record<records::StepLine>(json, place);
    if (!line.step) throw ConfigError(cat(place, " has no step; correct the line or remove it"));
    const auto evaluation = records::read_record<records::EvaluationLine>(json, place);
    if (evaluation.loss || !line.seconds) {
        records.evaluations.push_back(evaluation);
        return;
    }
    add_times_of_ranks(records.ranks, line.ranks, *line.seconds);
    slow.add(records.events, *line.step, line.ranks.slowness);
    line.ranks = {};  // large if a run has many ranks and steps
    line.gpus = {};
    records.steps.push_back(std::move(line));
}

void add_lines(RunRecords& records, const std::string& text, const fs::path& path) {
    SlowEvents slow;
    std::size_t begin = 0;
    for (std::size_t number = 1; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string place = cat(path.string(), ", line ", number);
        const auto json = try_parse_json<Json>(std::string_view(text).substr(begin, end - begin));
        const bool is_unfinished = end == text.size() && !json;
        if (!is_unfinished) add_line(records, slow, json.value_or(Json()), place);
        begin = end + 1;
    }
}

// Ignores an incomplete last line.
std::vector<plan::Decision> decisions_in(const fs::path& path) {
    const Words text = content_of(path);
    if (!text) return {};
    return plan::decisions_from_jsonl(text->substr(0, text->rfind('\n') + 1), path.string());
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
                       .layout = {},
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
        records.manifest = records::read_record<records::Manifest>(*json, manifest.string());
        if (!records.manifest->layout.empty())
            records.layout = plan::layout_from_json(records.manifest->layout, "manifest.json");
    }
    const fs::path summary = directory / "summary.json";
    if (const auto json = object_in(summary)) {
        records.summary = records::read_record<records::Summary>(*json, summary.string());
    }
    const fs::path trace = directory / "trace.json";
    if (const auto json = object_in(trace)) records.trace = trace_from(*json, trace.string());
    return records;
}

}  // namespace trireme::report
