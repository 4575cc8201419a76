// Reads the records of a wall-clock study of two ranks. The study repeats its runs in several rounds, and every
// round also measures the matmul rates of the two cores.
//
// A folder of records has one folder per round, numbered from 1, with the matmul rates gemm-alone.json and
// gemm-both-RANK.json, and files NAME.jsonl with one line per training step.
#pragma once

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

namespace trireme::perf {

using Json = nlohmann::ordered_json;

// Minimum of Calibration::ratio. Below it the two cores share execution units, and figures of two ranks mean
// little.
constexpr double min_calibration = 0.85;
constexpr int min_rounds = 7;  // number of rounds that a valid study needs

// These functions throw ConfigError if the file cannot be read.
std::ifstream open(const std::filesystem::path& path);
Json read_json(const std::filesystem::path& path);
std::string read_text(const std::filesystem::path& path);

double median(std::vector<double> values);

// A figure with one or several values per round. `by_round` returns the median of each round, and `middle` the
// median of these medians.
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

// Applies `function` per round to the medians of other figures; the result has one value per round.
template <class Function, class... Others>
Series combine(const Function& function, const Others&... others) {
    Series result;
    const std::size_t rounds = std::min({others.by_round().size()...});
    for (std::size_t r = 0; r < rounds; ++r) result.add({function(others.by_round()[r]...)});
    return result;
}

// The files that a study has recorded.
class Records {
public:
    Records(std::filesystem::path folder, int rounds) : folder_(std::move(folder)), rounds_(rounds) {}

    int rounds() const { return rounds_; }
    std::filesystem::path file(const std::string& name) const { return folder_ / name; }
    std::filesystem::path file(int round, const std::string& name) const {
        return folder_ / std::to_string(round) / name;
    }

    // Collects `figure` of the steps in the file NAME.jsonl of each round. Skips the first step of each file,
    // which is the warm-up step.
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
    std::filesystem::path folder_;
    int rounds_;
};

// Matmul rates of a process in GFLOP/s: alone (`alone`), and of each of two processes at once (`both`). `ratio`
// is both / alone.
struct Calibration {
    Series alone, both, ratio;

    Json json() const;
};
Calibration calibrate(const Records& records);

// Returns why the figures are not valid, or an empty string if they are.
std::string complaint(const Records& records, const Calibration& calibration);

// Runs the command PROGRAM RECORDS ROUNDS OUTPUT.json: judges the records, writes the result, and prints it
// with its "verdict" and, if it is not valid, the "reason". Returns the exit code.
int run_verdict(int argc, char** argv, const std::function<Json(const Records&)>& judge,
                const std::function<void(const Json&)>& print);

}  // namespace trireme::perf
