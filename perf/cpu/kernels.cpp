// Times every kernel of the fast CPU backend at the shapes of GPT-2 124M, in CPU seconds. The floor of each
// kernel, the time that the machine's measured limits allow (see cases.hpp), is measured in the same run. The
// program should be pinned to one core:
//
//   taskset -c 1 perf_cpu_kernels --json kernels.json
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cases.hpp"
#include "floors.hpp"
#include "provenance.hpp"

namespace trireme::perf {
namespace {

constexpr std::size_t repeats = 7;

struct Limits {
    double flops_per_s;
    double bytes_per_s;
};

// Uses the minimum of several calls, because other load on the machine can only increase the time.
double floor_seconds(const Case& work, const Limits& limits) {
    switch (work.floor) {
        case Floor::matmul:
            return library_seconds(*work.matmul, repeats).least;
        case Floor::flops:
            return std::max(work.cost.flops / limits.flops_per_s, work.cost.bytes / limits.bytes_per_s);
        case Floor::bytes:
            return work.cost.bytes / limits.bytes_per_s;
    }
    return 0;
}

// Times the kernel before and after the measurement of its floor, so that a change of the machine's speed
// affects both.
nlohmann::json make_row(const Case& work, const Limits& limits) {
    device::CpuStream stream{.threads = 1};
    const auto run = [&] { work.run(stream); };
    const Seconds before = measure(repeats, run);
    const double floor = floor_seconds(work, limits);
    const Seconds after = measure(repeats, run);
    const Seconds seconds{std::min(before.least, after.least), std::min(before.median, after.median)};
    std::printf("%-26s %-30s %10.3f %10.3f %10.3f %9.2f\n", work.kernel.c_str(), work.shape.c_str(),
                seconds.median * 1e3, seconds.least * 1e3, floor * 1e3, floor / seconds.least);
    std::fflush(stdout);
    return {{"kernel", work.kernel},    {"shape", work.shape}, {"median_s", seconds.median},
            {"least_s", seconds.least}, {"floor_s", floor},    {"ratio", floor / seconds.least}};
}

Limits measure_limits() {
    constexpr std::size_t edge = 512;
    constexpr std::size_t copied_bytes = std::size_t{128} << 20;
    constexpr double flops = 2.0 * edge * edge * edge;
    const Seconds matmul = library_seconds({.rows = edge, .columns = edge, .depth = edge}, 200);
    return {flops / matmul.least, measure_copy_bandwidth(copied_bytes, 30)};
}

void measure_all(const char* json_path, const nlohmann::ordered_json& origin) {
    const Limits limits = measure_limits();
    std::printf("512^3 matmul: %.1f GFLOP/s; copy bandwidth: %.2f GB/s\n", limits.flops_per_s * 1e-9,
                limits.bytes_per_s * 1e-9);
    std::printf("%-26s %-30s %10s %10s %10s %9s\n", "kernel", "shape", "median ms", "min ms", "floor ms",
                "floor/min");
    nlohmann::json rows = nlohmann::json::array();
    const auto add = [&](const Case& work) { rows.push_back(make_row(work, limits)); };
    for (const std::size_t length : {64, 512}) for_each_case(4, length, add);
    if (json_path == nullptr) return;
    std::ofstream(json_path) << nlohmann::json{{"provenance", origin},
                                               {"product_flops_per_s", limits.flops_per_s},
                                               {"copy_bytes_per_s", limits.bytes_per_s},
                                               {"kernels", rows}}
                                    .dump(1)
                             << '\n';
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    const bool has_json = argc == 3 && std::string_view(argv[1]) == "--json";
    if (argc != 1 && !has_json) {
        std::fprintf(stderr, "usage: %s [--json FILE]\n", argv[0]);
        return 2;
    }
    trireme::perf::measure_all(has_json ? argv[2] : nullptr, trireme::perf::provenance(argc, argv));
    return 0;
}
