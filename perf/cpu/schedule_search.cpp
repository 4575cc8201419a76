// Measures the time to make a schedule from costs on one core: the search alone, and a whole plan with its
// slots. The resulting step time is compared with the shortest fixed schedule within the same memory, and with
// the limit: the work of the busiest team, from the moment when its first input can arrive.
//
//   perf_schedule_search [REPEATS [RESULT.json]]      5
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "provenance.hpp"
#include "trireme/base/error.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/device/machine.hpp"
#include "trireme/plan/plan.hpp"
#include "trireme/schedule/search.hpp"

namespace trireme::perf {
namespace {

constexpr schedule::StageCost block{10, 11, 9, 1};
constexpr schedule::StageCost head{4, 26, 22, 1};

struct Case {
    std::string name;
    int pipe = 1;
    int microbatches = 1;  // per replica
    std::vector<schedule::StageCost> costs;
    int most_activations = 0;  // per team; 0 for no limit
    int data = 1;
    int chunks = 1;
};

std::vector<schedule::StageCost> blocks(int stages) {
    return std::vector<schedule::StageCost>(static_cast<std::size_t>(stages), block);
}

std::vector<schedule::StageCost> blocks_and_head(int stages) {
    std::vector<schedule::StageCost> costs = blocks(stages);
    costs.back() = head;
    return costs;
}

std::vector<Case> cases() {
    return {{"16 stages x 128 micro-batches", 16, 128, blocks(16)},
            {"16 x 128, memory of 1F1B", 16, 128, blocks(16), 16},
            {"16 x 128, dear head", 16, 128, blocks_and_head(16)},
            {"16 x 128, dear head, memory of 1F1B", 16, 128, blocks_and_head(16), 16},
            {"16 x 128, little memory", 16, 128, blocks(16), 12},
            {"8 x 2 chunks x 128", 8, 128, blocks(16), 0, 1, 2},
            {"16 x 8 replicas x 32", 16, 32, blocks(16), 0, 8}};
}

plan::PlanWish wish_of(const Case& of, const std::string& schedule) {
    const auto stages = of.costs.size();
    const layout::Grid grid{.pipe = of.pipe, .data = of.data, .tensor = 1, .chunks = of.chunks};
    plan::PlanWish wish{.layout = grid_layout(grid, std::vector<std::size_t>(stages, 1)),
                        .schedule = schedule,
                        .microbatches = of.microbatches,
                        .costs = of.costs};
    const int teams = of.pipe * of.data;
    if (of.most_activations > 0)
        wish.most_activations.assign(static_cast<std::size_t>(teams), of.most_activations);
    return wish;
}

double step_of(const plan::Plan& plan, const Case& of) {
    return predict_step(plan.training.phases(), plan.training.shape, of.costs).seconds;
}

double shortest_fixed(const Case& of) {
    double shortest = std::numeric_limits<double>::infinity();
    for (const schedule::Schedule& schedule : schedule::schedules()) {
        if (schedule.keeps_old_weights) continue;
        try {
            shortest = std::min(shortest, step_of(make_plan(wish_of(of, schedule.name)), of));
        } catch (const ConfigError&) {
            continue;  // not defined for this shape, or needs too much memory
        }
    }
    return shortest;
}

double limit_of(const Case& of) {
    double limit = 0;
    for (int team = 0; team < of.pipe; ++team) {
        double time = 0;
        for (std::size_t stage = static_cast<std::size_t>(team); stage < of.costs.size();
             stage += static_cast<std::size_t>(of.pipe)) {
            const schedule::StageCost& cost = of.costs[stage];
            time += of.microbatches * (cost.forward + cost.backward_input + cost.backward_weight);
        }
        limit = std::max(limit, time);
    }
    return limit;
}

template <class Act>
double median_seconds(int repeats, const Act& act) {
    std::vector<double> seconds;
    for (int r = 0; r < repeats; ++r) {
        const double begin = device::now_seconds();
        act();
        seconds.push_back(device::now_seconds() - begin);
    }
    std::nth_element(seconds.begin(), seconds.begin() + repeats / 2, seconds.end());
    return seconds[static_cast<std::size_t>(repeats / 2)];
}

nlohmann::ordered_json measured(const Case& of, int repeats) {
    const plan::PlanWish wish = wish_of(of, schedule::searched_schedule);
    const plan::Plan plan = make_plan(wish);
    schedule::PipelineShape shape = plan.training.shape;
    shape.validates = false;
    const std::vector<bool> may_split(of.costs.size(), true);
    return {{"case", of.name},
            {"search_seconds", median_seconds(repeats, [&] { search_programs(shape, of.costs, may_split); })},
            {"plan_seconds", median_seconds(repeats, [&] { make_plan(wish); })},
            {"step", step_of(plan, of)},
            {"shortest_fixed", shortest_fixed(of)},
            {"limit", limit_of(of)},
            {"slots", shape.slots}};
}

void run(int repeats, const std::string& result, const nlohmann::ordered_json& origin) {
    nlohmann::ordered_json all{
        {"provenance", origin}, {"processor", device::processor_name()}, {"repeats", repeats}};
    std::printf("%-38s %9s %9s %9s %9s %9s\n", "", "search s", "plan s", "step", "fixed", "limit");
    for (const Case& of : cases()) {
        const nlohmann::ordered_json row = measured(of, repeats);
        std::printf("%-38s %9.2f %9.2f %9g %9g %9g\n", of.name.c_str(), row["search_seconds"].get<double>(),
                    row["plan_seconds"].get<double>(), row["step"].get<double>(),
                    row["shortest_fixed"].get<double>(), row["limit"].get<double>());
        all["cases"].push_back(row);
    }
    if (!result.empty()) std::ofstream(result) << all.dump(2) << '\n';
}

}  // namespace
}  // namespace trireme::perf

int main(int argc, char** argv) {
    const std::vector<std::string> words(argv + 1, argv + argc);
    trireme::perf::run(words.empty() ? 5 : std::stoi(words[0]), words.size() > 1 ? words[1] : "",
                       trireme::perf::provenance(argc, argv));
    return 0;
}
