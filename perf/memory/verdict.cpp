// Evaluates the records of perf/memory/run.sh: medians over the rounds, each beside its limit.
//
//   perf_memory_verdict RECORDS ROUNDS OUTPUT.json
//
// RECORDS has settings.json and version.txt, and rounds (rounds.hpp) with WAY.jsonl and WAY-summary.json. WAY
// is "elastic" (each step is fitted into the memory limit by itself) or "full" (every step recomputes all
// blocks).
#include <cstdio>

#include "rounds.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::perf {
namespace {

constexpr double min_gain = 1.08;               // tokens/s of "elastic" / tokens/s of "full"
constexpr double max_planning_fraction = 0.01;  // seconds of planning / seconds of the steps

using Steps = std::vector<Json>;

Steps read_steps(const Records& records, int round, const std::string& way) {
    std::ifstream lines = open(records.file(round, way + ".jsonl"));
    Steps steps;
    for (std::string line; std::getline(lines, line);) {
        Json record = Json::parse(line);
        if (record.contains("grad_norm")) steps.push_back(std::move(record));
    }
    if (steps.size() < 2)
        throw ConfigError(cat("the run ", way, " of round ", round,
                              " has no step after the first one; run the study again with larger STEPS"));
    return steps;
}

double read_field(const Json& step, const std::string& name) {
    if (!step.contains(name))
        throw ConfigError(cat("step ", step.at("step").get<int>(), " has no field ", name,
                              "; run the study again with a program that records it"));
    return step.at(name);
}

// Returns the sum of a field over the steps from number `begin` on; number 0 is the first step.
double sum(const Steps& steps, const std::string& name, std::size_t begin = 0) {
    double total = 0;
    for (std::size_t i = begin; i < steps.size(); ++i) total += read_field(steps[i], name);
    return total;
}

double find_maximum(const Steps& steps, const std::string& name) {
    double maximum = 0;
    for (const Json& step : steps) maximum = std::max(maximum, read_field(step, name));
    return maximum;
}

// Applies `figure` to the steps of each round.
Series of_runs(const Records& records, const std::string& way,
               const std::function<double(const Steps&)>& figure) {
    return records.of_rounds([&](int round) { return std::vector{figure(read_steps(records, round, way))}; });
}

Series of_summaries(const Records& records, const std::string& way, const std::string& pointer) {
    return records.of_rounds([&](int round) {
        const Json summary = read_json(records.file(round, way + "-summary.json"));
        return std::vector<double>{summary.at(Json::json_pointer(pointer))};
    });
}

// Throws ConfigError if the two runs of a round have different rows, or if no measured step exceeds the limit.
void check_steps(const Records& records) {
    for (int round = 1; round <= records.rounds(); ++round) {
        const Steps elastic = read_steps(records, round, "elastic");
        const Steps full = read_steps(records, round, "full");
        const auto tokens = [](const Json& step) { return step.at("tokens").get<double>(); };
        if (!std::ranges::equal(elastic, full, {}, tokens, tokens))
            throw ConfigError(
                cat("the two runs of round ", round, " have steps of different tokens; run the study again"));
        if (sum(elastic, "deficit_bytes", 1) == 0)
            throw ConfigError("no measured step exceeds the memory limit; set a lower LIMIT, or more STEPS");
    }
}

// Returns tokens/s over all steps but the first, which is the warm-up step.
Series measure_rate(const Records& records, const std::string& way) {
    return of_runs(records, way,
                   [](const Steps& steps) { return sum(steps, "tokens", 1) / sum(steps, "seconds", 1); });
}

Series add_up(const Records& records, const std::string& way, const std::string& name) {
    return of_runs(records, way, [&](const Steps& steps) { return sum(steps, name); });
}

// Returns the predicted memory of the largest step beside the measured memory: the peak of the resident memory
// (peak_bytes), and its growth since just before the buffers were made.
Json compare_memory(const Records& records, const std::string& way) {
    const auto most = [&](const std::string& name) {
        return of_runs(records, way, [&](const Steps& steps) { return find_maximum(steps, name); });
    };
    const Series predicted = most("predicted_bytes");
    const Series growth = of_summaries(records, way, "/memory_bytes/growth");
    const auto ratio = [](double grown, double bytes) { return grown / bytes; };
    return {{"predicted_bytes", predicted.json()},
            {"peak_bytes", most("peak_bytes").json()},
            {"growth_bytes", growth.json()},
            {"growth_to_predicted", combine(ratio, growth, predicted).json()}};
}

Json judge_gain(const Series& elastic, const Series& full) {
    const Series gain = combine([](double e, double f) { return e / f; }, elastic, full);
    Json json = gain.json();
    json["least"] = min_gain;
    json["is_met"] = gain.middle() >= min_gain;
    return json;
}

// Compares the time in which rank 0 plans the steps with the time of the steps. Rank 0 plans each step a second
// time, to predict the figures of its record; `planning_s` does not include this.
Json judge_planning(const Records& records) {
    const Series seconds = add_up(records, "elastic", "planning_s");
    const Series fraction = of_runs(records, "elastic", [](const Steps& steps) {
        return sum(steps, "planning_s") / sum(steps, "seconds");
    });
    return {{"seconds", seconds.json()},
            {"fraction", fraction.json()},
            {"limit", max_planning_fraction},
            {"is_met", fraction.middle() <= max_planning_fraction}};
}

Json describe_machine() {
    std::ifstream load = open("/proc/loadavg");
    double minute = 0;
    load >> minute;
    return {{"processor", device::read_processor_name()}, {"load_at_end", minute}};
}

Json judge(const Records& records) {
    const Calibration calibration = calibrate(records);
    const std::string why = complaint(records, calibration);
    check_steps(records);
    const Series elastic = measure_rate(records, "elastic");
    const Series full = measure_rate(records, "full");
    Json result{{"verdict", why.empty() ? "VALID" : "INVALID"}};
    if (!why.empty()) result["reason"] = why;
    result["machine"] = describe_machine();
    result["version"] = read_text(records.file("version.txt"));
    result["settings"] = read_json(records.file("settings.json"));
    result["calibration"] = calibration.json();
    result["gain"] = judge_gain(elastic, full);
    result["tokens_per_s"] = {{"elastic", elastic.json()}, {"full", full.json()}};
    result["planning"] = judge_planning(records);
    result["fitted"] = {{"steps", of_summaries(records, "elastic", "/steps_fitted_to_memory").json()},
                        {"recomputed_bytes", add_up(records, "elastic", "recomputed_bytes").json()},
                        {"offloaded_bytes", add_up(records, "elastic", "offloaded_bytes").json()}};
    result["memory"] = {{"elastic", compare_memory(records, "elastic")},
                        {"full", compare_memory(records, "full")}};
    return result;
}

double middle_of(const Json& figure) { return figure.at("median"); }
const char* describe_verdict(const Json& figure) { return figure.at("is_met").get<bool>() ? "met" : "NOT met"; }

void print(const Json& result) {
    std::printf(
        "with two processes at once, each reaches %.3f of the matmul rate of one alone (minimum %.2f)\n",
        middle_of(result.at("calibration").at("ratio")), min_calibration);
    std::printf("tokens/s: %.1f with --elastic length, %.1f with --recompute full: %.3f x (minimum %.2f: %s)\n",
                middle_of(result.at("tokens_per_s").at("elastic")),
                middle_of(result.at("tokens_per_s").at("full")), middle_of(result.at("gain")), min_gain,
                describe_verdict(result.at("gain")));
    std::printf("planning takes %.4f of the step time (limit %.2f: %s)\n",
                middle_of(result.at("planning").at("fraction")), max_planning_fraction,
                describe_verdict(result.at("planning")));
    for (const auto& [way, memory] : result.at("memory").items())
        std::printf("memory with %-7s %.0f MB predicted, growth of %.0f MB (%.3f x), peak of %.0f MB\n",
                    cat(way, ":").c_str(), middle_of(memory.at("predicted_bytes")) * 1e-6,
                    middle_of(memory.at("growth_bytes")) * 1e-6, middle_of(memory.at("growth_to_predicted")),
                    middle_of(memory.at("peak_bytes")) * 1e-6);
    const Json& fitted = result.at("fitted");
    std::printf("steps fitted to memory: %.0f; recomputed: %.0f MB, offloaded: %.0f MB\n",
                middle_of(fitted.at("steps")), middle_of(fitted.at("recomputed_bytes")) * 1e-6,
                middle_of(fitted.at("offloaded_bytes")) * 1e-6);
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    return trireme::perf::run_verdict(argc, argv, trireme::perf::judge, trireme::perf::print);
}
