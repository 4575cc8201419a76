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

OptionalText read_content(const fs::path& path) {
    if (!fs::exists(path)) return std::nullopt;
    return read_regular_file(path);
}

std::optional<Json> read_object(const fs::path& path) {
    const OptionalText text = read_content(path);
    if (!text) return std::nullopt;
    auto json = try_parse_json<Json>(*text);
    if (!json || !json->is_object()) {
        throw ConfigError(
            cat(path.string(), " is damaged: it is not a JSON object; remove it to report the other records"));
    }
    return json;
}

// Adds the times of each rank in a step that took `seconds` to the sums in `ranks`. Restarts the sums if the
// number of ranks changes. Does nothing if a list is missing.
void add_rank_times(std::vector<RankSeconds>& ranks, const records::RankLists& lists, double seconds) {
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

// Records an event when a rank becomes slow and when it recovers. `slowness` has one factor per rank: the
// rank's matmul time relative to other ranks, or 1 if the rank is not slow.
class SlownessEvents {
public:
    void add(std::vector<RunEvent>& events, double step, const std::vector<double>& slowness) {
        was_slow_.resize(std::max(was_slow_.size(), slowness.size()));
        for (std::size_t rank = 0; rank < was_slow_.size(); ++rank) {
            const double factor = rank < slowness.size() ? slowness[rank] : 1;
            const bool is_slow = factor > 1;
            if (is_slow != was_slow_[rank])
                events.push_back({RunEvent::slow_rank, step,
                                  is_slow ? cat("rank ", rank, " takes ", format_significant(factor),
                                                " times as long as others")
                                          : cat("rank ", rank, " is as fast as others again")});
            was_slow_[rank] = is_slow;
        }
    }

private:
    std::vector<bool> was_slow_;
};

// Returns the value of --checkpoint-every in config.ini, in steps; 0 if the only checkpoint is at the end, or
// if the value is unknown.
double read_checkpoint_period(const OptionalText& config) {
    constexpr std::string_view name = "\ncheckpoint-every = ";
    const std::size_t begin = config ? config->find(name) : std::string::npos;
    return begin == std::string::npos ? 0 : std::strtod(config->c_str() + begin + name.size(), nullptr);
}

void add_events(RunRecords& records) {
    for (const plan::Decision& decision : records.decisions) {
        if (is_part_of_series(decision)) continue;
        records.events.push_back({RunEvent::plan_change, static_cast<double>(decision.step), decision.reason});
    }
    for (const records::EvaluationLine& line : records.evaluations)
        records.events.push_back({RunEvent::evaluation, *line.step, "evaluation"});
    const double period = read_checkpoint_period(records.config);
    if (records.steps.empty() || period < 1) return;
    const double first = *records.steps.front().step, last = *records.steps.back().step;
    for (double step = std::ceil(first / period) * period; step <= last; step += period)
        records.events.push_back({RunEvent::checkpoint, step, "checkpoint"});
}

void add_line(RunRecords& records, SlownessEvents& slow, const Json& json, const std::string& source) {
    if (!json.is_object())
        throw ConfigError(cat(source, " is not a JSON object; correct the line or remove it"));
    records::StepLine line = records::read_record<records::StepLine>(json, source);
    if (!line.step) throw ConfigError(cat(source, " has no step; correct the line or remove it"));
    const auto evaluation = records::read_record<records::EvaluationLine>(json, source);
    // Only an evaluation records a validation loss, and only a step records its seconds.
    if (evaluation.loss || !line.seconds) {
        records.evaluations.push_back(evaluation);
        return;
    }
    add_rank_times(records.ranks, line.ranks, *line.seconds);
    slow.add(records.events, *line.step, line.ranks.slowness);
    line.ranks = {};  // large if a run has many ranks and steps
    line.gpus = {};
    records.steps.push_back(std::move(line));
}

void add_lines(RunRecords& records, const std::string& text, const fs::path& path) {
    SlownessEvents slow;
    std::size_t begin = 0;
    for (std::size_t line_number = 1; begin < text.size(); ++line_number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::string source = cat(path.string(), ", line ", line_number);
        const auto json = try_parse_json<Json>(std::string_view(text).substr(begin, end - begin));
        const bool is_cut_off = end == text.size() && !json;
        if (!is_cut_off) add_line(records, slow, json.value_or(Json()), source);
        begin = end + 1;
    }
}

// Reads decisions.jsonl, without an incomplete last line.
std::vector<plan::Decision> read_decisions(const fs::path& path) {
    const OptionalText text = read_content(path);
    if (!text) return {};
    return plan::parse_decisions(text->substr(0, text->rfind('\n') + 1), path.string());
}

}  // namespace

RunRecords read_run(const fs::path& directory) {
    if (!fs::exists(directory)) {
        throw ConfigError(cat("the run directory ", directory.string(), " does not exist; `trireme train` ",
                              "prints its run directory at its end"));
    }
    const fs::path steps = directory / "steps.jsonl";
    const OptionalText lines = read_content(steps);
    if (!lines) {
        throw ConfigError(cat(directory.string(), " is not a run directory: it has no steps.jsonl; name the ",
                              "directory that `trireme train` wrote to"));
    }
    RunRecords records{.name = fs::weakly_canonical(directory).filename().string(),
                       .manifest = {},
                       .layout = {},
                       .summary = {},
                       .steps = {},
                       .evaluations = {},
                       .decisions = read_decisions(directory / "decisions.jsonl"),
                       .ranks = {},
                       .events = {},
                       .config = read_content(directory / "config.ini"),
                       .trace = {}};
    add_lines(records, *lines, steps);
    add_events(records);
    const fs::path manifest = directory / "manifest.json";
    if (const auto json = read_object(manifest)) {
        records.manifest = records::read_record<records::Manifest>(*json, manifest.string());
        if (!records.manifest->layout.empty())
            records.layout = plan::parse_layout(records.manifest->layout, "manifest.json");
    }
    const fs::path summary = directory / "summary.json";
    if (const auto json = read_object(summary)) {
        records.summary = records::read_record<records::Summary>(*json, summary.string());
    }
    const fs::path trace = directory / "trace.json";
    if (const auto json = read_object(trace)) records.trace = parse_trace(*json, trace.string());
    return records;
}

}  // namespace trireme::report
