// Evaluates the records of perf/stragglers/run.sh: medians over the rounds, each beside its limit.
//
//   perf_stragglers_verdict RECORDS ROUNDS OUTPUT.json
//
// RECORDS has settings.json and version.txt, and rounds (rounds.hpp) with healthy.jsonl (no rank is slow),
// off.jsonl (a rank is slow, and the plan stays), uneven.jsonl and uneven-decisions.jsonl (a rank is slow, and
// the plan changes to shares of the matmuls that are proportional to speed).
#include <cstdio>

#include "rounds.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::perf {
namespace {

namespace fs = std::filesystem;

constexpr double min_gain = 1.35;  // step time without uneven shares / with them

// Returns the seconds of each step after the first `before` steps of a run; the run "uneven" has changed its
// plan by then. `way` is "healthy", "off" or "uneven".
Series collect_seconds(const Records& records, const std::string& way, std::size_t before) {
    return records.of_rounds([&](int round) {
        std::ifstream lines = open(records.file(round, way + ".jsonl"));
        std::vector<double> seconds;
        std::size_t step = 0;
        for (std::string line; std::getline(lines, line);) {
            const Json record = Json::parse(line);
            if (record.contains("grad_norm") && ++step > before) seconds.push_back(record.at("seconds"));
        }
        return seconds;
    });
}

// Number of plan changes per round; it is one if only the slow rank was detected.
Series changes(const Records& records) {
    return records.of_rounds([&](int round) {
        std::istringstream lines(read_text(records.file(round, "uneven-decisions.jsonl")));
        double count = 0;
        for (std::string line; std::getline(lines, line);) ++count;
        return std::vector{count};
    });
}

Json judge(const Records& records) {
    const Json settings = read_json(records.file("settings.json"));
    const std::size_t before = settings.at("steps_before");
    const double factor = settings.at("factor");  // slowdown of the slow rank
    const Calibration calibration = calibrate(records);
    const std::string why = complaint(records, calibration);
    const Series healthy = collect_seconds(records, "healthy", before);
    const Series off = collect_seconds(records, "off", before);
    const Series uneven = collect_seconds(records, "uneven", before);
    const auto ratio = [](double t, double u) { return t / u; };
    const Series gain = combine(ratio, off, uneven);
    Json result{{"verdict", why.empty() ? "VALID" : "INVALID"}};
    if (!why.empty()) result["reason"] = why;
    result["machine"] = {{"processor", device::read_processor_name()}};
    result["version"] = read_text(records.file("version.txt"));
    result["settings"] = settings;
    result["calibration"] = calibration.json();
    result["gain"] = gain.json();
    result["gain"]["least"] = min_gain;
    result["gain"]["is_met"] = gain.middle() >= min_gain;
    result["gain"]["limit"] = factor * (1 + 1 / factor) / 2;
    result["gain"]["limit_is"] =
        "for matmuls alone, in shares proportional to speed: factor (ranks - 1 + 1 / factor) / ranks";
    result["off_to_healthy"] = combine(ratio, off, healthy).json();
    result["uneven_to_healthy"] = combine(ratio, uneven, healthy).json();
    result["step_s"] = {{"healthy", healthy.json()}, {"off", off.json()}, {"uneven", uneven.json()}};
    result["changes_of_plan"] = changes(records).json();
    return result;
}

double middle_of(const Json& figure) { return figure.at("median"); }

void print(const Json& result) {
    std::printf(
        "with two processes at once, each reaches %.3f of the matmul rate of one alone (minimum %.2f)\n",
        middle_of(result["calibration"]["ratio"]), min_calibration);
    std::printf(
        "step time: %.3f s on healthy ranks, %.3f s (%.2f x) with a slow rank, %.3f s (%.2f x) with a slow "
        "rank and uneven shares\n",
        middle_of(result["step_s"]["healthy"]), middle_of(result["step_s"]["off"]),
        middle_of(result["off_to_healthy"]), middle_of(result["step_s"]["uneven"]),
        middle_of(result["uneven_to_healthy"]));
    std::printf("uneven shares: %.2f x as fast as equal shares (minimum %.2f: %s; upper limit %.2f)\n",
                middle_of(result["gain"]), min_gain, result["gain"]["is_met"].get<bool>() ? "met" : "NOT met",
                result["gain"]["limit"].get<double>());
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    return trireme::perf::run_verdict(argc, argv, trireme::perf::judge, trireme::perf::print);
}
