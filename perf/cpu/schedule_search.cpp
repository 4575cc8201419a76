// Measures the time to make a schedule from costs on one core: the search alone, and a whole plan, which
// also chooses the number of slots (buffers at each end of a channel between stages). The resulting step time
// is compared with the shortest fixed schedule within the same memory, and with the limit: the work of the
// busiest team.
//
//   perf_schedule_search [REPEATS [RESULT.json]]
//
// Defaults: 5 repeats, no file.
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

// Durations of forward, of the two halves of the backward pass, and of a message, in arbitrary units.
constexpr schedule::StageCost block{10, 11, 9, 1};
constexpr schedule::StageCost head{4, 26, 22, 1};

struct Case {
    std::string name;
    int pipe = 1;
    int microbatches = 1;  // per replica
    std::vector<schedule::StageCost> costs;
    int max_activations = 0;  // in-flight micro-batches per team, summed over its stages; 0 for no limit
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
            {"16 x 128, costly head", 16, 128, blocks_and_head(16)},
            {"16 x 128, costly head, memory of 1F1B", 16, 128, blocks_and_head(16), 16},
            {"16 x 128, little memory", 16, 128, blocks(16), 12},
            {"8 x 2 chunks x 128", 8, 128, blocks(16), 0, 1, 2},
            {"16 x 8 replicas x 32", 16, 32, blocks(16), 0, 8}};
}

plan::PlanWish wish_of(const Case& search_case, const std::string& schedule) {
    const auto stages = search_case.costs.size();
    const layout::Grid grid{
        .pipe = search_case.pipe, .data = search_case.data, .tensor = 1, .chunks = search_case.chunks};
    plan::PlanWish wish{.layout = make_grid_layout(grid, std::vector<std::size_t>(stages, 1)),
                        .schedule = schedule,
                        .microbatches = search_case.microbatches,
                        .costs = search_case.costs};
    const int teams = search_case.pipe * search_case.data;
    if (search_case.max_activations > 0)
        wish.max_activations.assign(static_cast<std::size_t>(teams), search_case.max_activations);
    return wish;
}

double predict_step_seconds(const plan::Plan& plan, const Case& search_case) {
    return predict_step(plan.training.phases(), plan.training.shape, search_case.costs).seconds;
}

double shortest_fixed(const Case& search_case) {
    double shortest = std::numeric_limits<double>::infinity();
    for (const schedule::Schedule& schedule : schedule::list_schedules()) {
        if (schedule.stashes_weights) continue;  // has no flush between steps, unlike a searched schedule
        try {
            shortest = std::min(
                shortest, predict_step_seconds(make_plan(wish_of(search_case, schedule.name)), search_case));
        } catch (const ConfigError&) {
            continue;  // not defined for this shape, or needs too much memory
        }
    }
    return shortest;
}

// Returns the work of the busiest team. With several chunks, a team executes every `pipe`-th stage.
double limit_of(const Case& search_case) {
    double limit = 0;
    for (int team = 0; team < search_case.pipe; ++team) {
        double time = 0;
        for (std::size_t stage = static_cast<std::size_t>(team); stage < search_case.costs.size();
             stage += static_cast<std::size_t>(search_case.pipe)) {
            const schedule::StageCost& cost = search_case.costs[stage];
            time += search_case.microbatches * (cost.forward + cost.backward_input + cost.backward_weight);
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

nlohmann::ordered_json measured(const Case& search_case, int repeats) {
    const plan::PlanWish wish = wish_of(search_case, schedule::searched_schedule_name);
    const plan::Plan plan = make_plan(wish);
    schedule::PipelineShape shape = plan.training.shape;
    shape.has_speculative_updates = false;
    const std::vector<bool> may_split(search_case.costs.size(), true);
    return {{"case", search_case.name},
            {"search_seconds",
             median_seconds(repeats, [&] { search_programs(shape, search_case.costs, may_split); })},
            {"plan_seconds", median_seconds(repeats, [&] { make_plan(wish); })},
            {"step", predict_step_seconds(plan, search_case)},
            {"shortest_fixed", shortest_fixed(search_case)},
            {"limit", limit_of(search_case)},
            {"slots", shape.slots}};
}

void run(int repeats, const std::string& result, const nlohmann::ordered_json& origin) {
    nlohmann::ordered_json all{
        {"provenance", origin}, {"processor", device::read_processor_name()}, {"repeats", repeats}};
    std::printf(
        "Step times are in units of the time of one message: of the searched schedule, of the shortest fixed\n"
        "schedule, and the limit.\n");
    std::printf("%-38s %9s %9s %9s %9s %9s\n", "case", "search s", "plan s", "searched", "fixed", "limit");
    for (const Case& search_case : cases()) {
        const nlohmann::ordered_json row = measured(search_case, repeats);
        std::printf("%-38s %9.2f %9.2f %9g %9g %9g\n", search_case.name.c_str(),
                    row["search_seconds"].get<double>(), row["plan_seconds"].get<double>(),
                    row["step"].get<double>(), row["shortest_fixed"].get<double>(), row["limit"].get<double>());
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
