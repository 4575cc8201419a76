// The energy of simulated devices, divided by what their ranks do.
#include <map>
#include <random>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

using EnergyPhases = Simulate;

constexpr double idle_watts = 10;
double find_busy_watts(int mhz) { return 20 + mhz / 10; }

json sum_phases(const std::vector<json>& steps) {
    json sums{{"compute", 0.0}, {"blocked", 0.0}, {"idle", 0.0}, {"total", 0.0}};
    for (const json& step : steps) {
        for (const auto& [phase, joules] : step.at("energy_phases_j").items())
            sums[phase] = sums[phase].get<double>() + joules.get<double>();
        sums["total"] = sums["total"].get<double>() + step.at("energy_j").get<double>();
    }
    return sums;
}

// Computes the joules of all kernels in a trace, and the seconds of all steps, summed over the ranks.
std::pair<double, double> add_up_trace(const json& trace) {
    std::map<int, std::map<double, int>> clocks;  // per rank: clocks in MHz by their first microsecond
    for (const json& event : trace.at("traceEvents"))
        if (event.at("name") == "clock_mhz")
            clocks[event.at("pid")][event.at("ts")] = event.at("args").at("MHz");
    double joules = 0, step_seconds = 0;
    for (const json& event : trace.at("traceEvents")) {
        if (event.at("ph") != "X") continue;
        const double seconds = event.at("dur").get<double>() * 1e-6;
        if (event.at("cat") == "steps") step_seconds += seconds;
        if (event.at("cat") != "kernels") continue;
        constexpr double rounding = 0.01;  // microseconds, with which the trace is written
        const auto next = clocks.at(event.at("pid")).upper_bound(event.at("ts").get<double>() + rounding);
        joules += seconds * find_busy_watts(std::prev(next)->second);
    }
    return {joules, step_seconds};
}

// The clock changes at each pass.
TEST_F(EnergyPhases, FollowFromTheTrace) {
    write("clocked.json", clocked_abacus().dump());
    const Outcome plan = run("plan --model gpt2-tiny --vocabulary 257 --microbatches 4 --format csv --pipe 4");
    std::mt19937 random(5);
    std::string programs;
    std::istringstream lines(plan.out);
    for (std::string line; std::getline(lines, line); programs.back() = '\n') {
        std::istringstream cells(line);
        for (std::string cell; std::getline(cells, cell, ',');) {
            if (cell.find_first_not_of("0123456789FB") == std::string::npos)
                programs += "CLOCK" + std::to_string(300 * (1 + random() % 3)) + ",";
            programs += cell + ",";
        }
    }
    write("clocked.csv", programs);

    const std::vector<json> steps =
        simulated("clocked.json", "--pipe 4 --schedule clocked.csv --trace 1:2 --trace-kernels on");

    const auto [kernel_joules, step_seconds] = add_up_trace(json::parse(read(last_folder_ + "/trace.json")));
    const json sums = sum_phases(steps);
    double kernel_seconds = 0;
    for (const json& step : steps)
        for (const json& seconds : step.at("compute_s")) kernel_seconds += seconds.get<double>();
    const double joules = kernel_joules + idle_watts * (step_seconds - kernel_seconds);
    EXPECT_NEAR(sums.at("compute").get<double>(), kernel_joules, 1e-3 * kernel_joules);
    EXPECT_NEAR(sums.at("total").get<double>(), joules, 1e-3 * joules);
    EXPECT_NE(last_words_.find(" % blocked by other ranks, "), std::string::npos) << last_words_;
}

// The clock does not change, so that the phases follow from the seconds of kernels and waits. With tensor
// ranks, passes that are charged as a whole contain waits.
TEST_F(EnergyPhases, FollowFromTheSecondsOfKernelsAndWaits) {
    write("clocked.json", clocked_abacus().dump());
    for (const std::string way : {"--threads 1", "--math off --charge kernels", "--math off --charge passes"}) {
        SCOPED_TRACE(way);
        const std::string folder = "run-" + way.substr(way.rfind(' ') + 1);
        const Outcome outcome = run("simulate --ranks 4 --cluster clocked.json --run-dir " + folder +
                                    " --corpus corpus.h5 --model gpt2-tiny --layers 2 --steps 3 --batch 8 "
                                    "--microbatches 4 --length fixed --max-length 32 --pipe 2 --tensor 2 " +
                                    way);
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        const std::vector<json> made = steps(folder);
        double kernel_seconds = 0, wait_seconds = 0;
        for (const json& step : made) {
            for (const json& seconds : step.at("compute_s")) kernel_seconds += seconds.get<double>();
            for (const json& seconds : step.at("wait_s")) wait_seconds += seconds.get<double>();
        }

        const json sums = sum_phases(made);

        const double total = sums.at("total");
        EXPECT_NEAR(
            sums.at("compute").get<double>() + sums.at("blocked").get<double>() + sums.at("idle").get<double>(),
            total, 1e-9 * total);
        EXPECT_NEAR(sums.at("compute").get<double>(), find_busy_watts(900) * kernel_seconds, 1e-6 * total);
        EXPECT_NEAR(sums.at("blocked").get<double>(), idle_watts * wait_seconds, 1e-3 * total);
        EXPECT_LT(sums.at("idle").get<double>(), 1e-3 * total);
    }
}

}  // namespace
}  // namespace trireme::messages
