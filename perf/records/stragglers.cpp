#include "records/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include "records/csv.hpp"

namespace trireme::perf {
namespace {

namespace fs = std::filesystem;

constexpr int heads = 16;
constexpr std::array ways{"off", "resize", "semi", "migrate", "uneven"};

using Setting = std::tuple<std::string, int, double>;  // model, ranks, factor of the slow rank
using Seconds = std::map<std::string, double>;  // step seconds by --straggler, without runs that were refused
using Steps = std::map<Setting, Seconds>;

void add_step(const CsvTable& table, const std::vector<std::string>& row, Seconds& seconds) {
    const std::string& step = table.cell(row, "step_s/last");
    if (!step.empty()) seconds[table.cell(row, "straggler")] = number_in(step);
}

Steps steps_in(const fs::path& file) {
    const CsvTable table = read_csv(file);
    Steps steps;
    for (const auto& row : table.rows) {
        const Setting setting{table.cell(row, "model"), std::stoi(table.cell(row, "tensor")),
                              number_in(table.cell(row, "factor"))};
        add_step(table, row, steps[setting]);
    }
    return steps;
}

// Returns the cell of a table: "1.20 x", or "-" if the run was refused.
std::string format_ratio(const Seconds& seconds, const char* way, double healthy) {
    const auto found = seconds.find(way);
    return found == seconds.end() ? " - |" : fmt::format(" {:.2f} x |", found->second / healthy);
}

double healthy_seconds(const Steps& steps, const std::string& model, int ranks) {
    return steps.at({model, ranks, 1}).at("off");
}

// Returns the fraction of matmul time in a healthy step, from the step time with a rank of factor 8.
double matmul_fraction(const Steps& steps, const std::string& model, int ranks) {
    return (steps.at({model, ranks, 8}).at("off") / healthy_seconds(steps, model, ranks) - 1) / 7;
}

// Returns the shortest time for all heads if each rank has at least one, relative to an even split on healthy
// ranks.
double best_heads(const std::vector<double>& factors) {
    double best = std::numeric_limits<double>::infinity();
    for (const double factor : factors) {
        for (int count = 1; count <= heads; ++count) {
            const double time = factor * count;
            int done = 0, least = heads;
            for (const double of_rank : factors) {
                const int own = static_cast<int>(time / of_rank + 1e-9);
                done += own;
                least = std::min(least, own);
            }
            if (least > 0 && done >= heads) best = std::min(best, time);
        }
    }
    return best * static_cast<double>(factors.size()) / heads;
}

// `matmuls` is the fraction of matmul time in a healthy step, `factors` has the slowdown of each rank.
std::string format_row(const std::string& name, const Seconds& seconds, double healthy, double matmuls,
                       const std::vector<double>& factors) {
    double speed = 0;
    for (const double factor : factors) speed += 1 / factor;
    // Matmul time if all ranks end at once, relative to a healthy step.
    const double balanced = static_cast<double>(factors.size()) / speed;
    std::string row = "| " + name + " |";
    for (const char* const way : ways) row += format_ratio(seconds, way, healthy);
    return row + fmt::format(" {:.2f} x | {:.2f} x |\n", 1 - matmuls + matmuls * balanced,
                             1 - matmuls + matmuls * (best_heads(factors) / 3 + balanced * 2 / 3));
}

}  // namespace

std::string stragglers_table(const fs::path& folder) {
    const Steps steps = steps_in(folder / "stragglers.csv");
    std::string text = "| |";
    for (const char* const way : ways) text += fmt::format(" `{}` |", way);
    text += " formula | best cut into whole heads |\n|---|---|---|---|---|---|---|---|\n";
    for (const auto& [setting, seconds] : steps) {
        const auto& [model, ranks, factor] = setting;
        if (factor == 1) continue;
        std::vector<double> factors(static_cast<std::size_t>(ranks), 1);
        factors.front() = factor;
        text += format_row(fmt::format("{}, {} ranks, one of them {:.0f} x", model, ranks, factor), seconds,
                           healthy_seconds(steps, model, ranks), matmul_fraction(steps, model, ranks), factors);
    }
    const CsvTable table = read_csv(folder / "four-stragglers.csv");
    std::map<std::string, Seconds> four;
    for (const auto& row : table.rows) add_step(table, row, four[table.cell(row, "model")]);
    for (const auto& [model, seconds] : four)
        text += format_row(model + ", 8 ranks, four of them 8, 6, 4, 2 x", seconds,
                           healthy_seconds(steps, model, 8), matmul_fraction(steps, model, 8),
                           {8, 6, 4, 2, 1, 1, 1, 1});
    return text;
}

std::string half_stragglers_table(const fs::path& folder) {
    const Steps steps = steps_in(folder / "stragglers.csv");
    std::string text =
        "| at most half skipped | `resize` | `semi` | `migrate`, for comparison |\n|---|---|---|---|\n";
    for (const auto& [setting, seconds] : steps_in(folder / "half-stragglers.csv")) {
        const auto& [model, ranks, factor] = setting;
        const double healthy = healthy_seconds(steps, model, ranks);
        text += fmt::format("| {}, {} ranks, one of them {:.0f} x |{}{}{}\n", model, ranks, factor,
                            format_ratio(seconds, "resize", healthy), format_ratio(seconds, "semi", healthy),
                            format_ratio(steps.at(setting), "migrate", healthy));
    }
    return text;
}

}  // namespace trireme::perf
