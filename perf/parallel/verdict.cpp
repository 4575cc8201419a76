// Judges what perf/parallel/run.sh has recorded: medians over the rounds, each beside its limit.
//
//   perf_parallel_verdict RECORDS ROUNDS OUTPUT.json
//
// RECORDS has settings.json, version.txt, manifest.json and, with peers, pytorch.json; and of each round a
// folder with gemm-alone.json, gemm-both-RANK.json, and PROGRAM-one.jsonl, PROGRAM-two.jsonl,
// PROGRAM-pipeline.jsonl.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "trireme/base/error.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::perf {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// Where two cores reach less of twice one, they share what they compute with, and figures of two ranks say
// little.
constexpr double least_calibration = 0.85;
constexpr int least_rounds = 7;
constexpr double least_efficiency = 0.9;
constexpr double bubble_allowance = 0.05;

std::ifstream open(const fs::path& path) {
    std::ifstream file(path);
    if (!file) throw ConfigError(cat(path.string(), " cannot be read; start perf/parallel/run.sh again"));
    return file;
}

Json read_json(const fs::path& path) {
    std::ifstream file = open(path);
    return Json::parse(file);
}

std::string read_text(const fs::path& path) {
    std::ostringstream text;
    text << open(path).rdbuf();
    return text.str();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// A figure of every round, which may have several values.
class Series {
public:
    void add(std::vector<double> values) { rounds_.push_back(std::move(values)); }

    std::vector<double> by_round() const {
        std::vector<double> medians;
        for (const auto& values : rounds_) medians.push_back(median(values));
        return medians;
    }
    double middle() const { return median(by_round()); }
    Json json() const { return {{"median", middle()}, {"by_round", by_round()}, {"values", rounds_}}; }

private:
    std::vector<std::vector<double>> rounds_;
};

// One value for each round, of one value each of other figures.
template <class Function, class... Others>
Series combine(const Function& function, const Others&... others) {
    Series result;
    const std::size_t rounds = std::min({others.by_round().size()...});
    for (std::size_t r = 0; r < rounds; ++r) result.add({function(others.by_round()[r]...)});
    return result;
}

class Records {
public:
    Records(fs::path folder, int rounds) : folder_(std::move(folder)), rounds_(rounds) {}

    int rounds() const { return rounds_; }
    fs::path file(const std::string& name) const { return folder_ / name; }
    fs::path file(int round, const std::string& name) const { return folder_ / std::to_string(round) / name; }

    // Of all steps but the first of each start.
    Series of_steps(const std::string& name, const std::function<double(const Json&)>& figure) const {
        return of_rounds([&](int round) {
            std::ifstream lines = open(file(round, name + ".jsonl"));
            std::vector<double> values;
            std::string line;
            std::getline(lines, line);
            while (std::getline(lines, line)) values.push_back(figure(Json::parse(line)));
            return values;
        });
    }

    Series of_rounds(const std::function<std::vector<double>(int)>& values) const {
        Series series;
        for (int round = 1; round <= rounds_; ++round) series.add(values(round));
        return series;
    }

private:
    fs::path folder_;
    int rounds_;
};

double seconds(const Json& step) { return step.at("seconds"); }

double mean_compute(const Json& step) {
    double sum = 0;
    for (const double compute : step.at("compute_s")) sum += compute;
    return sum / static_cast<double>(step.at("compute_s").size());
}

double bubble(const Json& step) { return 1 - mean_compute(step) / seconds(step); }

double imbalance(const Json& step) {
    const auto compute = step.at("compute_s").get<std::vector<double>>();
    return 1 - mean_compute(step) / *std::max_element(compute.begin(), compute.end());
}

struct Calibration {
    Series alone, both, ratio;

    Json json() const {
        return {{"what", "f32 products of 256 x 768 x 3,072, GFLOP/s of a process"},
                {"one_process", alone.json()},
                {"two_processes", both.json()},
                {"ratio", ratio.json()},
                {"least", least_calibration}};
    }
};

Calibration calibrate(const Records& records) {
    const auto rate = [&](int round, const std::string& name) -> double {
        return read_json(records.file(round, name)).at("gflops");
    };
    Calibration c;
    c.alone = records.of_rounds([&](int r) { return std::vector{rate(r, "gemm-alone.json")}; });
    c.both = records.of_rounds([&](int r) {
        return std::vector{rate(r, "gemm-both-0.json"), rate(r, "gemm-both-1.json")};
    });
    c.ratio = combine([](double alone, double both) { return both / alone; }, c.alone, c.both);
    return c;
}

Json weak_scaling(const Records& records, const std::string& program, const Calibration& calibration) {
    const Series one = records.of_steps(program + "-one", seconds);
    const Series two = records.of_steps(program + "-two", seconds);
    const auto efficiency = [](double t1, double t2, double ratio) { return t1 / t2 / ratio; };
    const Series calibrated = combine(efficiency, one, two, calibration.ratio);
    const Series plain = combine([](double t1, double t2) { return t1 / t2; }, one, two);
    return {{"efficiency", calibrated.json()},
            {"least", least_efficiency},
            {"is_met", calibrated.middle() >= least_efficiency},
            {"before_calibration", plain.json()},
            {"one_rank_s", one.json()},
            {"two_ranks_s", two.json()}};
}

Json pipeline(const Records& records, const std::string& program, double schedule_bubble) {
    const std::string name = program + "-pipeline";
    const auto limit_of = [&](const Json& step) {
        return schedule_bubble + imbalance(step) + bubble_allowance;
    };
    const Series measured = records.of_steps(name, bubble);
    const Series above =
        records.of_steps(name, [&](const Json& step) { return bubble(step) - limit_of(step); });
    const auto of_rank = [&](std::size_t rank) {
        return records.of_steps(name,
                                [&](const Json& step) { return step.at("compute_s").at(rank).get<double>(); });
    };
    return {{"bubble", measured.json()},
            {"limit", records.of_steps(name, limit_of).json()},
            {"limit_is", "(stages - 1) / (micro-batches + stages - 1) + imbalance + 0.05"},
            {"is_met", above.middle() <= 0},
            {"above_limit", above.json()},
            {"imbalance", records.of_steps(name, imbalance).json()},
            {"step_s", records.of_steps(name, seconds).json()},
            {"compute_s_of_rank_0", of_rank(0).json()},
            {"compute_s_of_rank_1", of_rank(1).json()}};
}

double schedule_bubble(const Json& shape) {
    const double stages = shape.at("stages");
    const double micro_batches = shape.at("micro_batches");
    return (stages - 1) / (micro_batches + stages - 1);
}

// Why the figures do not count; empty: they do.
std::string complaint(const Records& records, const Calibration& calibration) {
    if (records.rounds() < least_rounds) {
        return cat("rounds: ", records.rounds(), " of the ", least_rounds, " that are needed");
    }
    const double ratio = calibration.ratio.middle();
    if (ratio < least_calibration) {
        return cat("two processes at once reached ", ratio, " of what one does alone, and ", least_calibration,
                   " is needed: the two cores are threads of one, or had other work");
    }
    return {};
}

Json describe_machine(const Records& records) {
    std::ifstream load = open("/proc/loadavg");
    double minute = 0;
    load >> minute;
    const Json manifest = read_json(records.file("manifest.json"));
    return {{"processor", processor_name()},
            {"mpi", manifest.at("mpi")},
            {"measured_peak_flops_of_two_ranks", manifest.at("measured_peak_flops")},
            {"load_at_end", minute}};
}

Json judge(const Records& records) {
    const Json settings = read_json(records.file("settings.json"));
    const Calibration calibration = calibrate(records);
    const std::string why = complaint(records, calibration);
    std::vector<std::string> programs{"trireme"};
    Json versions{{"trireme", read_text(records.file("version.txt"))}};
    if (fs::exists(records.file("pytorch.json"))) {
        programs.emplace_back("pytorch");
        versions["pytorch"] = read_json(records.file("pytorch.json"));
    }
    Json result{{"verdict", why.empty() ? "VALID" : "INVALID"}};
    if (!why.empty()) result["reason"] = why;
    result["machine"] = describe_machine(records);
    result["versions"] = versions;
    result["settings"] = settings;
    result["calibration"] = calibration.json();
    for (const std::string& program : programs) {
        result["weak_scaling"][program] = weak_scaling(records, program, calibration);
        result["pipeline"][program] = pipeline(records, program, schedule_bubble(settings.at("pipeline")));
    }
    return result;
}

double middle_of(const Json& figure) { return figure.at("median"); }
const char* text_of(bool is_met) { return is_met ? "met" : "NOT met"; }

void print(const Json& result) {
    std::printf("two processes at once: %.3f of what one multiplies alone (least %.2f)\n",
                middle_of(result["calibration"]["ratio"]), least_calibration);
    for (const auto& [program, w] : result["weak_scaling"].items()) {
        std::printf(
            "weak scaling  %-8s 1 rank %.3f s, 2 ranks %.3f s: efficiency %.3f after calibration (least "
            "%.2f: %s)\n",
            program.c_str(), middle_of(w["one_rank_s"]), middle_of(w["two_ranks_s"]),
            middle_of(w["efficiency"]), least_efficiency, text_of(w["is_met"]));
    }
    for (const auto& [program, p] : result["pipeline"].items()) {
        std::printf("pipeline      %-8s step %.3f s, imbalance %.3f: bubble %.3f (limit %.3f: %s)\n",
                    program.c_str(), middle_of(p["step_s"]), middle_of(p["imbalance"]), middle_of(p["bubble"]),
                    middle_of(p["limit"]), text_of(p["is_met"]));
    }
    std::printf("%s%s\n", result["verdict"].get<std::string>().c_str(),
                result.contains("reason") ? cat(": ", result["reason"].get<std::string>()).c_str() : "");
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    using namespace trireme::perf;
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s RECORDS ROUNDS OUTPUT.json\n", argv[0]);
        return 2;
    }
    try {
        const Json result = judge({argv[1], std::stoi(argv[2])});
        std::ofstream(argv[3]) << result.dump(1) << '\n';
        print(result);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}
