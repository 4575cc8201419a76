// Evaluates the records of perf/parallel/run.sh: medians over the rounds, each beside its limit.
//
//   perf_parallel_verdict RECORDS ROUNDS OUTPUT.json
//
// RECORDS has settings.json, version.txt, manifest.json and, with PyTorch, pytorch.json. It has one folder per
// round with gemm-alone.json, gemm-both-RANK.json, and PROGRAM-one.jsonl, PROGRAM-two.jsonl,
// PROGRAM-pipeline.jsonl. PROGRAM is trireme or pytorch; one and two are the numbers of ranks.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "rounds.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/machine.hpp"

namespace trireme::perf {
namespace {

namespace fs = std::filesystem;

constexpr double min_efficiency = 0.9;
constexpr double bubble_allowance = 0.05;

double seconds(const Json& step) { return step.at("seconds"); }

double mean_compute(const Json& step) {
    double sum = 0;
    for (const double compute : step.at("compute_s")) sum += compute;
    return sum / static_cast<double>(step.at("compute_s").size());
}

// Returns the fraction of the step in which a rank does not compute, as the mean over the ranks.
double bubble(const Json& step) { return 1 - mean_compute(step) / seconds(step); }

// Returns 1 - mean / maximum of the ranks' compute times.
double imbalance(const Json& step) {
    const auto compute = step.at("compute_s").get<std::vector<double>>();
    return 1 - mean_compute(step) / *std::max_element(compute.begin(), compute.end());
}

// The efficiency is the step time of one rank divided by that of two ranks, with equal work per rank. The ratio
// of the calibration corrects it: the matmul rate of a core while both cores work, relative to one core alone.
Json weak_scaling(const Records& records, const std::string& program, const Calibration& calibration) {
    const Series one = records.of_steps(program + "-one", seconds);
    const Series two = records.of_steps(program + "-two", seconds);
    const auto efficiency = [](double t1, double t2, double ratio) { return t1 / t2 / ratio; };
    const Series calibrated = combine(efficiency, one, two, calibration.ratio);
    const Series plain = combine([](double t1, double t2) { return t1 / t2; }, one, two);
    return {{"efficiency", calibrated.json()},
            {"least", min_efficiency},
            {"is_met", calibrated.middle() >= min_efficiency},
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
    const double microbatches = shape.at("micro_batches");
    return (stages - 1) / (microbatches + stages - 1);
}

Json describe_machine(const Records& records) {
    std::ifstream load = open("/proc/loadavg");
    double minute = 0;
    load >> minute;
    const Json manifest = read_json(records.file("manifest.json"));
    return {{"processor", device::read_processor_name()},
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
const char* describe_verdict(bool is_met) { return is_met ? "met" : "NOT met"; }

void print(const Json& result) {
    std::printf(
        "with two processes at once, each reaches %.3f of the matmul rate of one alone (minimum %.2f)\n",
        middle_of(result["calibration"]["ratio"]), min_calibration);
    for (const auto& [program, w] : result["weak_scaling"].items()) {
        std::printf(
            "weak scaling  %-8s step of 1 rank %.3f s, of 2 ranks %.3f s: efficiency %.3f after calibration "
            "(minimum %.2f: %s)\n",
            program.c_str(), middle_of(w["one_rank_s"]), middle_of(w["two_ranks_s"]),
            middle_of(w["efficiency"]), min_efficiency, describe_verdict(w["is_met"]));
    }
    for (const auto& [program, p] : result["pipeline"].items()) {
        std::printf("pipeline      %-8s step %.3f s, imbalance %.3f: bubble %.3f (limit %.3f: %s)\n",
                    program.c_str(), middle_of(p["step_s"]), middle_of(p["imbalance"]), middle_of(p["bubble"]),
                    middle_of(p["limit"]), describe_verdict(p["is_met"]));
    }
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    return trireme::perf::run_verdict(argc, argv, trireme::perf::judge, trireme::perf::print);
}
