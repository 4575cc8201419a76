#include "rounds.hpp"

#include <cstdio>

#include "trireme/base/error.hpp"

namespace trireme::perf {

std::ifstream open(const std::filesystem::path& path) {
    std::ifstream file(path);
    if (!file) throw ConfigError(cat(path.string(), " cannot be read; run the study again"));
    return file;
}

Json read_json(const std::filesystem::path& path) {
    std::ifstream file = open(path);
    return Json::parse(file);
}

std::string read_text(const std::filesystem::path& path) {
    std::ostringstream text;
    text << open(path).rdbuf();
    return text.str();
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t middle = values.size() / 2;
    return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

Json Calibration::json() const {
    return {{"what", "f32 matmuls of 256 x 768 x 3,072: GFLOP/s per process"},
            {"one_process", alone.json()},
            {"two_processes", both.json()},
            {"ratio", ratio.json()},
            {"least", min_calibration}};
}

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

std::string complaint(const Records& records, const Calibration& calibration) {
    if (records.rounds() < min_rounds) {
        return cat("a valid result needs at least ", min_rounds, " rounds, but this one has ",
                   records.rounds());
    }
    const double ratio = calibration.ratio.middle();
    if (ratio < min_calibration) {
        return cat(
            "with two processes at once, each reached only ", ratio,
            " of the matmul rate of one alone, but a valid result needs ", min_calibration,
            ": the two cores are hardware threads of one core, or ran other work; set CORES to two idle cores");
    }
    return {};
}

int run_verdict(int argc, char** argv, const std::function<Json(const Records&)>& judge,
                const std::function<void(const Json&)>& print) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: %s RECORDS ROUNDS OUTPUT.json\n", argv[0]);
        return 2;
    }
    try {
        const Json result = judge({argv[1], std::stoi(argv[2])});
        std::ofstream(argv[3]) << result.dump(1) << '\n';
        print(result);
        std::printf("%s%s\n", result.at("verdict").get<std::string>().c_str(),
                    result.contains("reason") ? cat(": ", result.at("reason").get<std::string>()).c_str() : "");
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 2;
    }
    return 0;
}

}  // namespace trireme::perf
