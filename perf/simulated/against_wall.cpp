// Programs that perf/simulated/against_wall.sh needs in addition to trireme:
//
//   perf_against_wall cluster PROFILE.json CLUSTER.json     two devices, joined by the profile's link
//   perf_against_wall judge RECORDS ROUNDS OUTPUT.json      medians of the records
//   perf_against_wall rejudge RESULT.json OUTPUT.json       the same from a result's `by_round`
//
// Criterion: in each row the median over the rounds of simulated seconds / (wall seconds x drift) is within a
// tenth of 1. The drift is the matmul rate of both cores before and after the wall-clock run, relative to their
// rate before and after the profile. A result with a row outside this bound is INVALID.
//
// RECORDS has settings.json, version.txt and one folder per round with gemm-alone.json, MODEL-profile.json,
// MODEL-LAYOUT-wall.jsonl and -simulated.jsonl, and the matmul rates before and after the profile and each
// wall-clock run: gemm-MODEL-before-LAYOUT-RANK.json, gemm-MODEL-after-profile-RANK.json.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/plan/profile.hpp"

namespace trireme::perf {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int min_rounds = 7;
constexpr double min_calibration = 0.85;  // minimum median of compute_calibration() over the rounds
constexpr double bound = 0.1;             // maximum deviation of a row's ratio from 1

std::string read_text(const fs::path& path) {
    std::ifstream in(path);
    std::ostringstream text;
    text << in.rdbuf();
    if (!in) throw ConfigError(cat(path.string(), " cannot be read"));
    return text.str();
}

Json read_json(const fs::path& path) { return Json::parse(read_text(path)); }

void write_cluster(const std::string& path, const std::string& output) {
    const plan::Profile profile = plan::parse_profile(read_text(path), path);
    if (profile.links.empty()) throw ConfigError(cat(path, " has no link; run trireme profile on two ranks"));
    const plan::BestRates best = plan::KernelTimes(profile.kernels).best_rates();
    const layout::Link& link = profile.links.front().link;
    const Json cluster{
        {"schema", 1},
        {"name", "this-machine"},
        {"source", "made from a profile"},
        {"device",
         {{"name", profile.machine},
          {"flops", {{profile.dtype, best.flops}}},
          {"bandwidth", best.bandwidth},
          {"memory", 1'000'000'000'000},
          {"launch", best.min_seconds}}},
        {"devices_per_node", 2},
        {"nodes", 1},
        {"inside", {{"latency", link.latency}, {"bandwidth", link.bandwidth}, {"carrier", "cores"}}}};
    std::ofstream(output) << cluster.dump(1) << '\n';
}

// Returns the median duration of the steps in a steps.jsonl, without the first step, which touches memory for
// the first time.
double step_seconds(const fs::path& path) {
    std::istringstream lines(read_text(path));
    std::vector<double> seconds;
    for (std::string line; std::getline(lines, line);) {
        const Json record = Json::parse(line);
        if (record.contains("seconds") && record.at("step") > 0) seconds.push_back(record.at("seconds"));
    }
    return compute_median(seconds);
}

class Records {
public:
    Records(fs::path folder, int rounds) : folder_(std::move(folder)), rounds_(rounds) {}

    Json settings() const { return read_json(folder_ / "settings.json"); }
    std::string version() const { return read_text(folder_ / "version.txt"); }
    int rounds() const { return rounds_; }

    // Returns `figure` of the folder of each round.
    std::vector<double> of_rounds(const std::function<double(const fs::path&)>& figure) const {
        std::vector<double> values;
        for (int round = 1; round <= rounds_; ++round)
            values.push_back(figure(folder_ / std::to_string(round)));
        return values;
    }

private:
    fs::path folder_;
    int rounds_;
};

// Returns the mean matmul rate per core before and after `what` (the profile or a layout) of a model.
double compute_mean_rate(const fs::path& round, const std::string& model, const std::string& what) {
    double sum = 0;
    for (const char* const when : {"before", "after"}) {
        for (const char* const rank : {"0", "1"}) {
            const std::string name = cat("gemm-", model, '-', when, '-', what, '-', rank, ".json");
            sum += read_json(round / name).at("gflops").get<double>();
        }
    }
    return sum / 4;
}

// Returns the mean matmul rate of two simultaneous processes, relative to the rate of a process that ran alone
// just before them.
double compute_calibration(const fs::path& round, const std::string& first_model) {
    double mean_rate = 0;
    for (const char* const rank : {"0", "1"}) {
        const std::string name = cat("gemm-", first_model, "-before-profile-", rank, ".json");
        mean_rate += read_json(round / name).at("gflops").get<double>() / 2;
    }
    return mean_rate / read_json(round / "gemm-alone.json").at("gflops").get<double>();
}

// Makes one row of the result from its figures per round.
Json make_row(const std::string& model, const std::string& layout, const std::vector<double>& wall,
              const std::vector<double>& simulated, const std::vector<double>& drift) {
    std::vector<double> calibrated;
    for (std::size_t r = 0; r < wall.size(); ++r) calibrated.push_back(simulated[r] / (wall[r] * drift[r]));
    const double ratio = compute_median(calibrated);
    return {{"model", model},
            {"layout", layout},
            {"wall_s", compute_median(wall)},
            {"simulated_s", compute_median(simulated)},
            {"simulated_to_wall", compute_median(simulated) / compute_median(wall)},
            {"simulated_to_calibrated_wall", ratio},
            {"is_within_bound", std::abs(ratio - 1) <= bound},
            {"by_round",
             {{"wall_s", wall},
              {"simulated_s", simulated},
              {"speed_to_that_of_the_profile", drift},
              {"simulated_to_calibrated_wall", calibrated}}}};
}

Json compare(const Records& records, const std::string& model, const std::string& layout) {
    const std::string name = cat(model, "-", layout);
    const std::vector<double> wall =
        records.of_rounds([&](const fs::path& round) { return step_seconds(round / (name + "-wall.jsonl")); });
    const std::vector<double> simulated = records.of_rounds(
        [&](const fs::path& round) { return step_seconds(round / (name + "-simulated.jsonl")); });
    const std::vector<double> drift = records.of_rounds([&](const fs::path& round) {
        return compute_mean_rate(round, model, layout) / compute_mean_rate(round, model, "profile");
    });
    return make_row(model, layout + " 2", wall, simulated, drift);
}

// Returns the latencies and bandwidths of the link between the two ranks, as profiled in each round.
Json links_of(const Records& records, const std::string& model) {
    const auto link = [&](const fs::path& round) {
        return read_json(round / (model + "-profile.json")).at("links").at(0);
    };
    const auto figure = [&](const char* name) {
        return records.of_rounds([&](const fs::path& round) { return link(round).at(name).get<double>(); });
    };
    return {{"latency", figure("latency")}, {"bandwidth", figure("bandwidth")}};
}

// Returns why the result is not valid, or an empty string if it is.
std::string complaint(int rounds, double calibration, const Json& rows) {
    if (rounds < min_rounds)
        return cat("a valid result needs at least ", min_rounds, " rounds, but this one has ", rounds);
    std::string beyond;
    std::size_t count = 0;
    for (const Json& row : rows) {
        if (row.at("is_within_bound")) continue;
        beyond += cat(++count == 1 ? "" : ", ", row.at("model").get<std::string>(), " ",
                      row.at("layout").get<std::string>(), " at ",
                      row.at("simulated_to_calibrated_wall").get<double>());
    }
    if (calibration >= min_calibration && count == 0) return {};
    if (count > 0)
        return cat(count, " of ", rows.size(), " rows differ from the calibrated wall time by more than ",
                   bound, ": ", beyond);
    return cat(
        "with two processes at once, each reached only ", calibration,
        " of the matmul rate of one alone, but a valid result needs ", min_calibration,
        ": the two cores are hardware threads of one core, or ran other work; set CORES to two idle cores");
}

void give_verdict(Json& result, int rounds) {
    const std::string why = complaint(rounds, result.at("calibration").at("median"), result.at("steps"));
    result["verdict"] = why.empty() ? "VALID" : "INVALID";
    result["reason"] = why;
}

Json judge(const Records& records) {
    const Json settings = records.settings();
    const std::vector<double> calibration = records.of_rounds(
        [&](const fs::path& round) { return compute_calibration(round, settings.at("models").at(0)); });
    Json result{{"verdict", ""}, {"reason", ""}};
    result["version"] = records.version();
    result["settings"] = settings;
    result["calibration"] = {
        {"what", "rate of f32 matmuls: each of two processes at once, relative to one alone"},
        {"median", compute_median(calibration)},
        {"by_round", calibration},
        {"least", min_calibration}};
    result["bound"] = bound;
    for (const std::string model : settings.at("models")) {
        result["links"][model] = links_of(records, model);
        for (const std::string layout : settings.at("layouts"))
            result["steps"].push_back(compare(records, model, layout));
    }
    give_verdict(result, records.rounds());
    return result;
}

// Recomputes the rows and the verdict from the figures of each round.
Json rejudge(const Json& before) {
    Json result{{"verdict", ""}, {"reason", ""}};
    for (const auto& [name, value] : before.items()) result[name] = value;
    for (Json& row : result.at("steps")) {
        const Json by_round = row.at("by_round");
        row = make_row(row.at("model"), row.at("layout"), by_round.at("wall_s"), by_round.at("simulated_s"),
                       by_round.at("speed_to_that_of_the_profile"));
    }
    give_verdict(result, result.at("settings").at("rounds"));
    return result;
}

void print(const Json& result) {
    for (const Json& step : result.at("steps")) {
        std::printf(
            "%-10s %-9s wall %.4f s  simulated %.4f s  simulated/wall %.3f  simulated/calibrated wall %.3f "
            "(%s)\n",
            step.at("model").get<std::string>().c_str(), step.at("layout").get<std::string>().c_str(),
            step.at("wall_s").get<double>(), step.at("simulated_s").get<double>(),
            step.at("simulated_to_wall").get<double>(), step.at("simulated_to_calibrated_wall").get<double>(),
            step.at("is_within_bound").get<bool>() ? "within 10 %" : "NOT within 10 %");
    }
    std::printf(
        "with two processes at once, each reaches %.3f of the matmul rate of one alone (minimum %.2f)\n%s%s\n",
        result.at("calibration").at("median").get<double>(), min_calibration,
        result.at("verdict").get<std::string>().c_str(),
        result.at("reason") == "" ? "" : cat(": ", result.at("reason").get<std::string>()).c_str());
}

int act(const std::vector<std::string>& words) {
    if (words.size() == 3 && words[0] == "cluster") {
        write_cluster(words[1], words[2]);
        return 0;
    }
    if (words.size() == 4 && words[0] == "judge") {
        const Json result = judge({words[1], std::stoi(words[2])});
        std::ofstream(words[3]) << result.dump(1) << '\n';
        print(result);
        return 0;
    }
    if (words.size() == 3 && words[0] == "rejudge") {
        const Json result = rejudge(read_json(words[1]));
        std::ofstream(words[2]) << result.dump(1) << '\n';
        print(result);
        return 0;
    }
    std::fprintf(stderr,
                 "usage: perf_against_wall cluster PROFILE.json CLUSTER.json\n"
                 "       perf_against_wall judge RECORDS ROUNDS OUTPUT.json\n"
                 "       perf_against_wall rejudge RESULT.json OUTPUT.json\n");
    return 2;
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    try {
        return trireme::perf::act({argv + 1, argv + argc});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
}
