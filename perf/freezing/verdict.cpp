// Evaluates the records of perf/freezing/run.sh: the time of a training with and without --freeze.
//
//   perf_freezing_verdict RECORDS ROUNDS OUTPUT.json
#include <cstdio>
#include <map>

#include "rounds.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::perf {
namespace {

// Over the best run without --freeze, without and with a cache.
constexpr double min_speed_up = 1.6;
constexpr double min_cached_speed_up = 2.5;

std::vector<Json> read_lines(const std::filesystem::path& path) {
    std::ifstream file = open(path);
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
    return lines;
}

// Returns the seconds of all steps and plan changes of the run NAME in a round.
double sum_seconds(const Records& records, int round, const std::string& name) {
    double seconds = 0;
    for (const Json& step : read_lines(records.file(round, name + ".jsonl")))
        if (step.contains("grad_norm")) seconds += step.at("seconds").get<double>();
    for (const Json& decision : read_lines(records.file(round, name + "-decisions.jsonl")))
        seconds += decision.at("seconds").at("measured").get<double>();
    return seconds;
}

// Returns the passes of layers that the run NAME has counted. A backward pass counts twice: it computes the
// gradients of the input and of the weights.
double count_work(const Records& records, const std::string& name) {
    double work = 0;
    for (const Json& step : read_lines(records.file(1, name + ".jsonl"))) {
        if (!step.contains("layer_passes")) continue;
        work += step.at("layer_passes").at("forward").get<double>() +
                2 * step.at("layer_passes").at("backward").get<double>();
    }
    return work;
}

Json judge(const Records& records) {
    const Calibration calibration = calibrate(records);
    const std::string why = complaint(records, calibration);
    Json result{{"verdict", why.empty() ? "VALID" : "INVALID"}};
    if (!why.empty()) result["reason"] = why;
    result["machine"] = {{"processor", device::read_processor_name()}};
    result["version"] = read_text(records.file("version.txt"));
    result["settings"] = read_json(records.file("settings.json"));
    result["calibration"] = calibration.json();
    std::map<std::string, Series> seconds;
    for (const char* const name : {"data", "pipe", "freeze", "cache"}) {
        seconds[name] =
            records.of_rounds([&](int round) { return std::vector{sum_seconds(records, round, name)}; });
        result["seconds"][name] = seconds[name].json();
    }
    const std::string best = seconds["data"].middle() <= seconds["pipe"].middle() ? "data" : "pipe";
    result["best_static"] = best;
    const auto compare = [&](const char* name, double minimum) {
        const Series speed_up =
            combine([](double without, double with) { return without / with; }, seconds[best], seconds[name]);
        Json compared = speed_up.json();
        compared["least"] = minimum;
        compared["is_met"] = speed_up.middle() >= minimum;
        compared["limit"] = count_work(records, "data") / count_work(records, name);
        compared["limit_is"] = "the passes of layers without --freeze to those with it";
        return compared;
    };
    result["speed_up"] = compare("freeze", min_speed_up);
    result["cached_speed_up"] = compare("cache", min_cached_speed_up);
    return result;
}

void print(const Json& result) {
    const auto find_median = [&](const char* name) {
        return result.at("seconds").at(name).at("median").get<double>();
    };
    std::printf("data 2: %.2f s, pipe 2: %.2f s, --freeze: %.2f s, with --cache: %.2f s\n", find_median("data"),
                find_median("pipe"), find_median("freeze"), find_median("cache"));
    const auto print_speed_up = [&](const char* what, const Json& speed_up) {
        std::printf("%s is %.2f x as fast as %s 2 (minimum %.2f: %s; the counted work allows %.2f x)\n", what,
                    speed_up.at("median").get<double>(), result.at("best_static").get<std::string>().c_str(),
                    speed_up.at("least").get<double>(), speed_up.at("is_met").get<bool>() ? "met" : "NOT met",
                    speed_up.at("limit").get<double>());
    };
    print_speed_up("--freeze", result.at("speed_up"));
    print_speed_up("--freeze with --cache", result.at("cached_speed_up"));
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    return trireme::perf::run_verdict(argc, argv, trireme::perf::judge, trireme::perf::print);
}
