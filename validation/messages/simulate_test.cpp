// Runs on clusters that are described, and what keeps one from starting.
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using nlohmann::json;

// Of a run on 4 ranks whose micro-batches are all alike.
constexpr const char* of_train =
    "--corpus corpus.h5 --model gpt2-tiny --steps 2 --batch 8 --microbatches 4 --max-length 32 --length fixed "
    "--threads 1 --quiet ";
constexpr const char* of_plan =
    "--model gpt2-tiny --vocabulary 257 --microbatches 4 --max-length 32 --format json ";

json abacus() {
    return {{"schema", 1},
            {"name", "abacus-2x2"},
            {"source", "made up"},
            {"device",
             {{"name", "abacus"},
              {"flops", {{"f32", 1e9}}},
              {"bandwidth", 1e9},
              {"memory", 1000000000},
              {"launch", 1e-4}}},
            {"devices_per_node", 2},
            {"nodes", 2},
            {"inside", {{"latency", 1e-5}, {"bandwidth", 1e8}}},
            {"between", {{"latency", 1e-4}, {"bandwidth", 1e7}}}};
}

// Only products of matrices take time.
json abacus_of_products() {
    json cluster = abacus();
    cluster["device"]["bandwidth"] = 1e30;
    cluster["device"]["launch"] = 0;
    for (const char* link : {"inside", "between"}) cluster[link] = {{"latency", 1e-9}, {"bandwidth", 1e15}};
    return cluster;
}

class Simulate : public Workplace {
protected:
    void SetUp() override {
        if (programs() == mpi_libraries()) GTEST_SKIP() << "built without SimGrid";
        make_corpus();
        write("abacus.json", abacus().dump());
    }

    // The records of its steps.
    std::vector<json> steps(const std::string& folder) const {
        std::istringstream lines(read(folder + "/steps.jsonl"));
        std::vector<json> found;
        for (std::string line; std::getline(lines, line);) found.push_back(json::parse(line));
        return found;
    }

    std::vector<json> simulated(const std::string& cluster, const std::string& options) const {
        const std::string folder = "run-" + std::to_string(content().size());
        const Outcome outcome =
            run("simulate --ranks 4 --cluster " + cluster + " --run-dir " + folder + " " + of_train + options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        last_folder_ = folder;
        return steps(folder);
    }

    mutable std::string last_folder_;
};

template <class Field>
std::vector<json> each(const std::vector<json>& steps, const Field& field) {
    std::vector<json> found;
    for (const json& step : steps) {
        if (step.contains("seconds")) found.push_back(step.at(field));
    }
    return found;
}

TEST_F(Simulate, HasTheLossesOfARun) {
    for (const std::string layout : {"--pipe 2 --data 2 ", "--pipe 2 --tensor 2 "}) {
        const std::string folder = "wall-" + std::to_string(content().size());
        const Outcome outcome = run("train --run-dir " + folder + " " + of_train + layout, 4);
        ASSERT_EQ(outcome.code, 0) << outcome.err;

        const std::vector<json> made = simulated("abacus.json", layout);

        ASSERT_EQ(made.size(), steps(folder).size());
        EXPECT_EQ(each(made, "loss"), each(steps(folder), "loss"));
        EXPECT_EQ(each(made, "grad_norm"), each(steps(folder), "grad_norm"));
        EXPECT_EQ(each(made, "clock"), (std::vector<json>{"simulated", "simulated"}));
        EXPECT_EQ(each(steps(folder), "clock"), (std::vector<json>{"wall", "wall"}));
    }
}

TEST_F(Simulate, TakesTheSameSecondsAgain) {
    const std::vector<json> first = simulated("abacus.json", "--pipe 4");
    const std::vector<json> second = simulated("abacus.json", "--pipe 4");

    for (const char* field : {"seconds", "compute_s", "comm_wait_s"}) {
        EXPECT_EQ(each(first, field), each(second, field)) << field;
    }
    EXPECT_GT(first.front().at("seconds").get<double>(), 0);
}

TEST_F(Simulate, TakesTwiceAsLongOnHalfTheDevice) {
    json half = abacus();
    half["device"]["flops"]["f32"] = 5e8;
    half["device"]["bandwidth"] = 5e8;
    half["device"]["launch"] = 2e-4;
    write("half.json", half.dump());

    const std::vector<json> whole_seconds = each(simulated("abacus.json", "--pipe 4"), "compute_s");
    const std::vector<json> half_seconds = each(simulated("half.json", "--pipe 4"), "compute_s");

    constexpr double rounding = 1e-6;  // the simulator's clock, over some thousand kernels
    ASSERT_EQ(whole_seconds.size(), 2U);
    for (std::size_t step = 0; step < 2; ++step) {
        for (std::size_t rank = 0; rank < 4; ++rank) {
            const double expected = 2 * whole_seconds[step][rank].get<double>();
            EXPECT_GT(expected, 0);
            EXPECT_NEAR(half_seconds[step][rank].get<double>(), expected, rounding * expected);
        }
    }
}

// Of each stage by what its instructions took: "F=...,I=...,W=...;..."
std::string costs_of(const json& trace, int stages) {
    std::map<std::pair<int, char>, std::pair<double, int>> sums;
    for (const json& event : trace.at("traceEvents")) {
        if (event.at("ph") != "X" || event.at("cat") != "compute" || !event.at("args").contains("microbatch"))
            continue;
        auto& [seconds, count] =
            sums[{event.at("args").at("stage"), event.at("name").get<std::string>().at(1)}];
        seconds += event.at("dur").get<double>() * 1e-6;
        ++count;
    }
    std::ostringstream text;
    text.precision(17);
    for (int stage = 0; stage < stages; ++stage) {
        const auto mean = [&](char op) { return sums[{stage, op}].first / sums[{stage, op}].second; };
        text << (stage == 0 ? "" : ";") << "F=" << mean('F') << ",I=" << mean('B') / 2
             << ",W=" << mean('B') / 2;
    }
    return text.str();
}

TEST_F(Simulate, TakesTheStepThatIsPredicted) {
    write("products.json", abacus_of_products().dump());
    for (const int pipe : {2, 4}) {
        const std::string stages = "--pipe " + std::to_string(pipe) + " ";
        const double seconds = simulated("products.json", stages + "--trace 2").at(1).at("seconds");
        const std::string costs = costs_of(json::parse(read(last_folder_ + "/trace.json")), pipe);

        const Outcome plan = run("plan " + stages + of_plan + "--cost " + costs);

        ASSERT_EQ(plan.code, 0) << plan.err;
        const double predicted = json::parse(plan.out).at("prediction").at("seconds");
        EXPECT_GT(predicted, 0.1);
        EXPECT_NEAR(seconds, predicted, 0.01 * predicted) << costs;
    }
}

TEST_F(Simulate, ComparesWithTheRateOfTheDevice) {
    simulated("abacus.json", "--pipe 4");

    const json summary = json::parse(read(last_folder_ + "/summary.json"));
    EXPECT_EQ(summary.at("clock"), "simulated");
    EXPECT_EQ(summary.at("model_flops_per_s").at("limit"), 4e9);
    EXPECT_EQ(summary.at("peak_is"), "f32 rate of 4 x abacus of abacus-2x2");
    const json manifest = json::parse(read(last_folder_ + "/manifest.json"));
    EXPECT_EQ(manifest.at("device"), "abacus of abacus-2x2 (simulated)");
    EXPECT_EQ(manifest.at("hosts"),
              json({"node-0-device-0", "node-0-device-1", "node-1-device-0", "node-1-device-1"}));
    EXPECT_FALSE(manifest.contains("measured_peak_flops"));
}

TEST_F(Simulate, TakesWhatKernelsWereMeasuredToTake) {
    const Outcome outcome = run(
        "profile --corpus corpus.h5 --max-length 32 --threads 1 --batch 2 --repeat 1 --output profile.json");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    json profile = json::parse(read("profile.json"));
    for (json& kernel : profile.at("kernels")) {
        kernel["seconds"] = 2 * kernel.at("seconds").get<double>();
    }
    write("twice.json", profile.dump());

    const std::vector<json> rates = each(simulated("abacus.json", "--pipe 4"), "compute_s");
    const std::vector<json> once =
        each(simulated("abacus.json", "--pipe 4 --profile profile.json"), "compute_s");
    const std::vector<json> twice =
        each(simulated("abacus.json", "--pipe 4 --profile twice.json"), "compute_s");

    constexpr double rounding = 1e-4;  // the simulator's clock, over kernels of less than a microsecond
    for (std::size_t rank = 0; rank < 4; ++rank) {
        const double seconds = once[1][rank];
        EXPECT_NE(seconds, rates[1][rank].get<double>());
        EXPECT_NEAR(twice[1][rank].get<double>(), 2 * seconds, rounding * seconds);
    }
    EXPECT_EQ(json::parse(read(last_folder_ + "/manifest.json")).at("kernel_times"),
              "twice.json: " + profile.at("machine").get<std::string>() + ", cpu, 1 thread");
}

TEST_F(Simulate, SaysWhoseTimesKernelsTake) {
    ASSERT_EQ(run("profile --corpus corpus.h5 --max-length 32 --repeat 1 --output profile.json").code, 0);
    json without = json::parse(read("profile.json"));
    without.erase("kernels");
    write("without.json", without.dump());
    const std::string line =
        "simulate --ranks 2 --cluster abacus.json --pipe 2 --corpus corpus.h5 --steps 1 "
        "--batch 2 --max-length 32 ";

    const Outcome measured = run(line + "--run-dir measured --profile profile.json");
    const Outcome by_rates = run(line + "--run-dir rates --profile without.json");

    EXPECT_EQ(measured.code, 0) << measured.err;
    EXPECT_NE(measured.out.find("\nkernels   as measured, profile.json: "), std::string::npos) << measured.out;
    EXPECT_EQ(by_rates.code, 0) << by_rates.err;
    EXPECT_EQ(by_rates.out.find("as measured"), std::string::npos) << by_rates.out;
    EXPECT_FALSE(json::parse(read("rates/manifest.json")).contains("kernel_times"));
}

TEST_F(Simulate, RefusesAProfileOfOtherNumbers) {
    json both = abacus();
    both["device"]["flops"]["f64"] = 1e9;
    write("both.json", both.dump());
    ASSERT_EQ(run("profile --corpus corpus.h5 --max-length 32 --repeat 1 --output profile.json").code, 0);

    const Outcome outcome = run(std::string("simulate --ranks 4 --cluster both.json --pipe 4 --dtype f64 ") +
                                "--profile profile.json " + of_train);

    EXPECT_EQ(outcome.code, 2);
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("profile.json was measured in f32, and this run computes in f64"),
              std::string::npos)
        << outcome.err;
}

TEST_F(Simulate, EndsWithTheCodeOfTheRun) {
    const Outcome outcome = run(std::string("simulate --ranks 4 --cluster abacus.json --pipe 3 ") + of_train);

    EXPECT_EQ(outcome.code, 2);
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("the process grid needs 3 ranks"), std::string::npos) << outcome.err;
}

TEST_F(Simulate, RefusesWhatItCannotRun) {
    const std::string line = std::string(of_train) + "--ranks 4 ";
    write("text.json", "hello");
    json other = abacus();
    other["device"]["speed"] = 1;
    write("other.json", other.dump());

    expect_refusal("simulate --cluster none.json " + line, {"--cluster none.json cannot be read"});
    expect_refusal("simulate --cluster text.json " + line, {"text.json is not whole JSON"});
    expect_refusal("simulate --cluster other.json " + line,
                   {"other.json: device has an unknown key \"speed\""});
    expect_refusal(std::string("simulate --cluster abacus.json --ranks 5 ") + of_train,
                   {"--ranks 5 are more than the 4 devices of abacus-2x2"});
    expect_refusal("simulate --cluster abacus.json --math off " + line, {"--math off"});
    expect_refusal("simulate --cluster abacus.json --seed x " + line, {"--seed expects", "not 'x'"});
    expect_refusal(std::string("simulate --cluster abacus.json ") + of_train, {"give --ranks N"});
}

TEST_F(Simulate, NeedsARateForTheNumbersOfTheRun) {
    const Outcome outcome =
        run(std::string("simulate --ranks 4 --cluster abacus.json --pipe 4 --dtype f64 ") + of_train);

    EXPECT_EQ(outcome.code, 2);
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("abacus.json has no device.flops.f64"), std::string::npos) << outcome.err;
}

// As in a folder that holds the program alone, and on a path without smpirun.
TEST_F(Simulate, NamesAProgramThatIsMissing) {
    const std::string simulate = std::string(" simulate --ranks 4 --cluster abacus.json ") + of_train;
    std::filesystem::copy_file(program_path(), path("alone"));
    const auto said = [&](const std::string& command) {
        const std::string line = "cd " + path("").string() + " && " + command + simulate + "2> said";
        EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 3);
        return read("said");
    };

    EXPECT_NE(said("./alone").find("trireme-sim is not there; build Trireme where SimGrid is installed"),
              std::string::npos);
    EXPECT_NE(said("PATH=/none " + program_path())
                  .find("smpirun, which runs simulations, cannot be started: No such"),
              std::string::npos);
}

TEST_F(Simulate, IsNotTheClockOfTheWall) {
    expect_train_refusal("--cluster abacus.json",
                         {"--cluster abacus.json is for simulated time", "`trireme simulate`"}, 2);
}

}  // namespace
}  // namespace trireme::messages
