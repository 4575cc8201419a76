// Simulated runs on described clusters: their losses, times and records, and the messages that refuse a run.
#include <sys/wait.h>

#include <cstdlib>
#include <map>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

TEST_F(Simulate, ReproducesTheLossesOfARealRun) {
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

TEST_F(Simulate, TakesTheSameTimeInEveryRun) {
    const std::vector<json> first = simulated("abacus.json", "--pipe 4");
    const std::vector<json> second = simulated("abacus.json", "--pipe 4");

    for (const char* field : {"seconds", "compute_s", "comm_wait_s"}) {
        EXPECT_EQ(each(first, field), each(second, field)) << field;
    }
    EXPECT_GT(first.front().at("seconds").get<double>(), 0);
}

TEST_F(Simulate, TakesTwiceAsLongOnADeviceOfHalfTheSpeed) {
    json half = abacus();
    half["device"]["flops"]["f32"] = 5e8;
    half["device"]["bandwidth"] = 5e8;
    half["device"]["launch"] = 2e-4;
    write("half.json", half.dump());

    const std::vector<json> whole_seconds = each(simulated("abacus.json", "--pipe 4"), "compute_s");
    const std::vector<json> half_seconds = each(simulated("half.json", "--pipe 4"), "compute_s");

    constexpr double rounding = 1e-6;  // relative error of the simulator's clock over thousands of kernels
    ASSERT_EQ(whole_seconds.size(), 2U);
    for (std::size_t step = 0; step < 2; ++step) {
        for (std::size_t rank = 0; rank < 4; ++rank) {
            const double expected = 2 * whole_seconds[step][rank].get<double>();
            EXPECT_GT(expected, 0);
            EXPECT_NEAR(half_seconds[step][rank].get<double>(), expected, rounding * expected);
        }
    }
}

// A device with three clocks. The clipped norm makes some guesses of zb-h1 wrong, so that updates are rolled
// back.
TEST_F(Simulate, GivesTheSameLossesAtAllClocks) {
    json cluster = abacus();
    for (const int mhz : {900, 600, 300})
        cluster["device"]["clocks"].push_back(
            {{"mhz", mhz}, {"speed", mhz / 900.0}, {"watts", {{"idle", 10}, {"busy", 20 + mhz / 10}}}});
    write("abacus.json", cluster.dump());
    const std::string grid = "--pipe 4 --schedule ";
    const Outcome plan =
        run("plan --model gpt2-tiny --vocabulary 257 --microbatches 4 --format csv " + grid + "zb-h1");
    ASSERT_EQ(plan.code, 0) << plan.err;
    write("plain.csv", plan.out);
    std::string clocked;
    for (std::size_t i = 0; i < plan.out.size(); ++i) {
        const bool begins_cell = i == 0 || plan.out[i - 1] == ',' || plan.out[i - 1] == '\n';
        if (begins_cell) clocked += std::string("CLOCK") + std::to_string(300 * (1 + i % 3)) + ",";
        clocked += plan.out[i];
    }
    write("clocked.csv", clocked);
    const std::string options = "--dtype f64 --clip 0.5 --eval-every 1 --validation-share 0.1 ";
    cluster["device"]["flops"]["f64"] = 1e9;
    write("abacus.json", cluster.dump());

    const std::vector<json> plain = simulated("abacus.json", options + grid + "plain.csv");
    const std::vector<json> with_clocks = simulated("abacus.json", options + grid + "clocked.csv");

    for (const char* const field : {"loss", "grad_norm"})
        EXPECT_EQ(each(with_clocks, field), each(plain, field));
    const auto list_validation_losses = [](const std::vector<json>& steps) {
        std::vector<json> losses;
        for (const json& step : steps)
            if (step.contains("validation_loss")) losses.push_back(step.at("validation_loss"));
        return losses;
    };
    EXPECT_EQ(list_validation_losses(with_clocks), list_validation_losses(plain));
    EXPECT_EQ(list_validation_losses(plain).size(), 2U);
    EXPECT_GT(each(with_clocks, "seconds").at(1), each(plain, "seconds").at(1));
}

TEST_F(Simulate, RecordsThePeakRateOfTheSimulatedDevices) {
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

TEST_F(Simulate, ReturnsTheExitCodeOfTheRun) {
    const Outcome outcome = run(std::string("simulate --ranks 4 --cluster abacus.json --pipe 3 ") + of_train);

    EXPECT_EQ(outcome.code, 2);
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("the process grid needs 3 ranks"), std::string::npos) << outcome.err;
}

TEST_F(Simulate, RejectsInvalidClustersAndOptions) {
    const std::string line = std::string(of_train) + "--ranks 4 ";
    write("text.json", "hello");
    json other = abacus();
    other["device"]["speed"] = 1;
    write("other.json", other.dump());

    expect_refusal("simulate --cluster none.json " + line, {"--cluster none.json cannot be read"});
    expect_refusal("simulate --cluster text.json " + line, {"text.json is not valid JSON"});
    expect_refusal("simulate --cluster other.json " + line,
                   {"other.json: device has an unknown key \"speed\""});
    expect_refusal(std::string("simulate --cluster abacus.json --ranks 5 ") + of_train,
                   {"--ranks 5 needs 5 devices, but abacus-2x2 has 4"});
    expect_refusal("simulate --cluster abacus.json --seed x " + line, {"--seed expects", "not 'x'"});
    expect_refusal(std::string("simulate --cluster abacus.json ") + of_train, {"give --ranks N"});
}

TEST_F(Simulate, RequiresADeviceRateForTheDtype) {
    const Outcome outcome =
        run(std::string("simulate --ranks 4 --cluster abacus.json --pipe 4 --dtype f64 ") + of_train);

    EXPECT_EQ(outcome.code, 2);
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("abacus.json has no device.flops.f64"), std::string::npos) << outcome.err;
}

TEST_F(Simulate, RejectsRunsThatExceedTheDeviceMemory) {
    json small = abacus();
    small["device"]["memory"] = 1'000'000;
    write("small.json", small.dump());

    for (const std::string math : {"on", "off"}) {
        const Outcome outcome =
            run("simulate --ranks 4 --cluster small.json --pipe 4 --math " + math + " " + of_train);

        EXPECT_EQ(outcome.code, 2);
        ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.out << outcome.err;
        EXPECT_TRUE(has(outcome.err, ", but its device, abacus of abacus-2x2, has only 1.0 MB; use"))
            << outcome.err;
        EXPECT_EQ(outcome.out, "");
        EXPECT_FALSE(std::filesystem::exists(path("runs")));
    }
}

// First only `trireme` is in its folder, without trireme-sim; then smpirun is not on PATH.
TEST_F(Simulate, ReportsAMissingSimulationProgram) {
    const std::string simulate = std::string(" simulate --ranks 4 --cluster abacus.json ") + of_train;
    std::filesystem::copy_file(program_path(), path("alone"));
    const auto run_and_read_errors = [&](const std::string& command) {
        const std::string line = "cd " + path("").string() + " && " + command + simulate + "2> said";
        EXPECT_EQ(WEXITSTATUS(std::system(line.c_str())), 3);
        return read("said");
    };

    EXPECT_NE(run_and_read_errors("./alone").find(
                  "trireme-sim does not exist; build Trireme where SimGrid is installed"),
              std::string::npos);
    EXPECT_NE(run_and_read_errors("PATH=/none " + program_path())
                  .find("smpirun, which runs simulations, is not on PATH; install SimGrid"),
              std::string::npos);
}

TEST_F(Simulate, IsRequiredForClusterFiles) {
    expect_train_refusal("--cluster abacus.json",
                         {"--cluster abacus.json needs simulated time", "`trireme simulate`"}, 2);
}

}  // namespace
}  // namespace trireme::messages
