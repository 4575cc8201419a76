// Evaluates the records of perf/moves/run.sh: the stall of a plan change for each value of --move, and the
// additional time of the following step.
//
//   perf_moves_verdict RECORDS ROUNDS OUTPUT.json
//
// RECORDS has settings.json, manifest.json and, in ROUND/WAY, the steps.jsonl and decisions.jsonl of a run. WAY
// is the value of --move.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::perf {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr std::array ways{"stop", "overlap", "twins", "restart"};  // the values of --move

std::ifstream open(const fs::path& path) {
    std::ifstream file(path);
    if (!file) throw ConfigError(cat(path.string(), " cannot be read; run perf/moves/run.sh again"));
    return file;
}

std::vector<Json> lines_of(const fs::path& path) {
    std::ifstream file = open(path);
    std::vector<Json> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
    return lines;
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// Bytes that a core copies per second, between pages that it has touched before.
double measure_copy_rate() {
    constexpr std::size_t bytes = std::size_t{256} << 20;
    std::vector<std::byte> from(bytes, std::byte{1});
    std::vector<std::byte> to(bytes, std::byte{2});
    double least = 1e9;
    for (int repeat = 0; repeat < 7; ++repeat) {
        const double begin = device::now_seconds();
        std::memcpy(to.data(), from.data(), bytes);
        least = std::min(least, device::now_seconds() - begin);
    }
    return static_cast<double>(bytes) / least;
}

// One value per plan change, over all rounds.
struct Costs {
    std::vector<double> stall;      // seconds in which all ranks wait
    std::vector<double> next_step;  // extra seconds of the next step, relative to later ones with that plan
    std::vector<double> rate;       // bytes moved (for restart, bytes read) per second of stall + next_step

    // Returns stall + next_step of each plan change.
    std::vector<double> both() const {
        std::vector<double> sums;
        for (std::size_t c = 0; c < stall.size(); ++c) sums.push_back(stall[c] + next_step[c]);
        return sums;
    }
};

// Adds the costs of all plan changes of a run. Steps count from 1; the first step after a decision at step S is
// S + 1. The first change to a plan touches memory for the first time, and is counted, too.
void add_run(const fs::path& folder, Costs& costs) {
    std::map<std::size_t, double> seconds;               // by number of the step
    std::map<std::string, std::vector<double>> by_plan;  // seconds of steps that are not in `firsts`
    const std::vector<Json> decisions = lines_of(folder / "decisions.jsonl");
    std::vector<std::size_t> firsts{1};  // numbers of the first steps with a plan
    for (const Json& decision : decisions) firsts.push_back(decision.at("step").get<std::size_t>() + 1);
    for (const Json& step : lines_of(folder / "steps.jsonl")) {
        if (!step.contains("seconds")) continue;
        const auto number = step.at("step").get<std::size_t>();
        seconds[number] = step.at("seconds");
        if (std::ranges::find(firsts, number) != firsts.end()) continue;
        by_plan[step.at("plan")].push_back(step.at("seconds"));
    }
    for (const Json& decision : decisions) {
        const double stall = decision.at("seconds").at("measured");
        const double first = seconds.at(decision.at("step").get<std::size_t>() + 1);
        costs.stall.push_back(stall);
        costs.next_step.push_back(first - median(by_plan.at(decision.at("to"))));
        costs.rate.push_back(decision.at("terms").at("moved_bytes").get<double>() /
                             (stall + costs.next_step.back()));
    }
}

Json series(const std::vector<double>& values) { return {{"median", median(values)}, {"values", values}}; }

Json verdict(const fs::path& records, int rounds) {
    std::map<std::string, Costs> costs;
    for (const char* const way : ways) {
        for (int round = 1; round <= rounds; ++round) {
            add_run(records / std::to_string(round) / way, costs[way]);
        }
    }
    std::ifstream settings = open(records / "settings.json");
    std::ifstream manifest = open(records / "manifest.json");
    const double copy = measure_copy_rate();
    Json result{{"what", "seconds that a plan change costs, for each value of --move"},
                {"settings", Json::parse(settings)},
                {"processor", device::read_processor_name()},
                {"mpi", Json::parse(manifest).at("mpi")},
                {"copy_bytes_per_s", copy}};
    const double stop = median(costs.at("stop").both());
    for (const char* const way : ways) {
        const Costs& own = costs.at(way);
        result["ways"][way] = {
            {"stall_s", series(own.stall)},          {"step_behind_s", series(own.next_step)},
            {"both_s", series(own.both())},          {"of_stop", median(own.both()) / stop},
            {"moved_bytes_per_s", series(own.rate)}, {"of_copy", median(own.rate) / copy}};
    }
    return result;
}

void print(const Json& result) {
    for (const auto& [way, costs] : result.at("ways").items()) {
        std::printf(
            "%-8s all ranks wait %6.3f s and the next step takes %6.3f s more: %4.2f x the time of stop, "
            "at %4.2f x the rate of a memory copy\n",
            way.c_str(), costs.at("stall_s").at("median").get<double>(),
            costs.at("step_behind_s").at("median").get<double>(), costs.at("of_stop").get<double>(),
            costs.at("of_copy").get<double>());
    }
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: perf_moves_verdict RECORDS ROUNDS OUTPUT.json\n";
        return 2;
    }
    try {
        const auto result = trireme::perf::verdict(argv[1], std::stoi(argv[2]));
        trireme::perf::print(result);
        std::ofstream file(argv[3]);
        file << result.dump(2) << '\n';
        if (!file.flush())
            throw trireme::ResourceError(trireme::cat(argv[3], " could not be written; is the disk full?"));
    } catch (const std::exception& error) {
        std::cerr << "perf_moves_verdict: " << error.what() << '\n';
        return 2;
    }
    return 0;
}
