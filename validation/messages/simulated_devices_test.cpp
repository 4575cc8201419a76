// Clusters with several kinds of devices, fat trees, energy meters and measured kernels.
#include <filesystem>

#include "messages/simulated_runs.hpp"

namespace trireme::messages {
namespace {

constexpr double rounding = 1e-4;  // relative error of the simulator's clock for kernels below a microsecond

// A device that is half as fast as abacus().
json slide_rule() {
    json device = abacus()["device"];
    device["name"] = "slide-rule";
    device["flops"]["f32"] = 5e8;
    device["bandwidth"] = 5e8;
    device["launch"] = 2e-4;
    return device;
}

// A cluster with one node of each kind.
json mixed_cluster() {
    json cluster = abacus();
    cluster["name"] = "mixed-2+2";
    json nodes = {
        {"device", cluster["device"]}, {"devices_per_node", 2}, {"nodes", 1}, {"inside", cluster["inside"]}};
    cluster["groups"] = {nodes, nodes};
    cluster["groups"][1]["device"] = slide_rule();
    for (const char* key : {"device", "devices_per_node", "nodes", "inside"}) cluster.erase(key);
    return cluster;
}

// On each rank a kernel takes the same time as in a cluster of devices of its kind only.
TEST_F(Simulate, GivesEachRankTheDeviceOfItsNode) {
    json slow = abacus();
    slow["device"] = slide_rule();
    write("slow.json", slow.dump());
    write("mixed.json", mixed_cluster().dump());

    const json mixed = each(simulated("mixed.json", "--pipe 2 --data 2"), "compute_s").at(1);
    const json summary = json::parse(read(last_folder_ + "/summary.json"));
    const json manifest = json::parse(read(last_folder_ + "/manifest.json"));
    const json on_fast = each(simulated("abacus.json", "--pipe 2 --data 2"), "compute_s").at(1);
    const json on_slow = each(simulated("slow.json", "--pipe 2 --data 2"), "compute_s").at(1);

    constexpr double last_digits = 1e-6;
    for (std::size_t rank = 0; rank < 4; ++rank) {
        const double expected = (rank < 2 ? on_fast : on_slow)[rank];
        EXPECT_NEAR(mixed[rank].get<double>(), expected, last_digits * expected) << rank;
    }
    EXPECT_GT(on_slow[3].get<double>(), 1.9 * on_fast[3].get<double>());
    EXPECT_EQ(summary.at("model_flops_per_s").at("limit"), 3e9);
    EXPECT_EQ(summary.at("peak_is"), "f32 rate of 2 x abacus and 2 x slide-rule of mixed-2+2");
    EXPECT_EQ(manifest.at("device"), "abacus and slide-rule of mixed-2+2 (simulated)");
}

// A message between two leaves of the tree has the additional latency of a spine.
TEST_F(Simulate, AddsTheLatencyOfSpineSwitches) {
    json tree = abacus();
    tree["nodes"] = 4;
    tree["devices_per_node"] = 1;
    tree.erase("inside");
    tree["between"] = {{"latency", 1e-3}, {"bandwidth", 1e12}};
    tree["fat_tree"] = {{"leaf_nodes", 4}, {"spines", 2}, {"latency", 3e-3}, {"bandwidth", 1e12}};
    write("one-leaf.json", tree.dump());
    tree["fat_tree"]["leaf_nodes"] = 1;
    write("leaves.json", tree.dump());

    const double one_leaf = each(simulated("one-leaf.json", "--pipe 4"), "seconds").at(1);
    const double leaves = each(simulated("leaves.json", "--pipe 4"), "seconds").at(1);

    // The path crosses three borders between leaves, forth and back.
    EXPECT_GE(leaves, one_leaf + 6 * 3e-3 * (1 - 1e-6));
}

// Messages one after the other take the same time, whether network adapters or cores carry them.
TEST_F(Simulate, TakesTheSameTimeIfCoresCarryMessages) {
    json shelf = abacus();
    shelf["inside"] = {{"latency", 1e-5}, {"bandwidth", 1e7}};
    shelf["devices_per_node"] = 4;
    shelf["nodes"] = 1;
    shelf.erase("between");
    write("adapters.json", shelf.dump());
    shelf["inside"]["carrier"] = "cores";
    write("cores.json", shelf.dump());
    const auto seconds = [&](const std::string& options) -> double {
        return each(simulated(options, "--pipe 4 --tied off --schedule inter-layer"), "seconds").at(1);
    };

    const double by_adapters = seconds("adapters.json");
    const double by_cores = seconds("cores.json");

    EXPECT_NEAR(by_cores, by_adapters, 0.001 * by_adapters);
    EXPECT_GT(by_cores, 1.02 * seconds("cores.json --network free"));
}

TEST_F(Simulate, SupportsANetworkThatTakesNoTime) {
    const double described = each(simulated("abacus.json", "--pipe 4"), "seconds").at(1);
    const json free = each(simulated("abacus.json", "--pipe 4 --network free"), "seconds").at(1);
    const json summary = json::parse(read(last_folder_ + "/summary.json"));

    EXPECT_LT(free.get<double>(), described);
    EXPECT_NE(read(last_folder_ + "/config.ini").find("network = free"), std::string::npos);
    EXPECT_EQ(summary.at("clock"), "simulated");
    expect_train_refusal("--network free",
                         {"--network has no effect without a simulated cluster", "trireme simulate"});
}

// A device draws its busy power in kernels, and its idle power otherwise.
TEST_F(Simulate, MetersTheEnergyOfDevices) {
    json metered = abacus();
    metered["device"]["clocks"] = {{{"mhz", 1000}, {"speed", 1}, {"watts", {{"idle", 70}, {"busy", 160}}}},
                                   {{"mhz", 500}, {"speed", 0.5}, {"watts", {{"idle", 70}, {"busy", 100}}}}};
    write("metered.json", metered.dump());

    const std::vector<json> steps = simulated("metered.json", "--pipe 4");
    EXPECT_NE(last_words_.find("  energy          "), std::string::npos) << last_words_;
    const Outcome report = run("report " + last_folder_);
    const json summary = json::parse(read(last_folder_ + "/summary.json"));

    double sum = 0;
    double expected = 0;
    for (const json& step : steps) {
        if (!step.contains("seconds")) continue;
        for (const json& busy : step.at("compute_s")) expected += (160 - 70) * busy.get<double>();
        expected += 4 * 70 * step.at("seconds").get<double>();
        sum += step.at("energy_j").get<double>();
        // Not exact, because ranks begin and end a step at slightly different times.
        EXPECT_NEAR(sum, expected, 0.01 * expected);
    }
    EXPECT_NEAR(summary.at("energy_j").get<double>(), sum, 1e-9 * sum);
    ASSERT_EQ(summary.at("energy_j_of_ranks").size(), 4U);
    EXPECT_EQ(report.code, 0) << report.err;
    EXPECT_NE(read(last_folder_ + "/report.html").find("<th>Energy</th>"), std::string::npos);
    EXPECT_EQ(each(steps, "seconds"), each(simulated("abacus.json", "--pipe 4"), "seconds"));
}

// SimGrid accepts the platforms of all cluster files of this project.
TEST_F(Simulate, AcceptsAllClusterFilesOfTheProject) {
    for (const auto& entry : std::filesystem::directory_iterator(TRIREME_SOURCE_DIR "/perf/clusters")) {
        const Outcome outcome =
            run("simulate --ranks 2 --pipe 2 --dry-run --cluster " + entry.path().string() +
                " --corpus corpus.h5 --model gpt2-tiny --steps 1 --batch 8 --microbatches 4");

        EXPECT_EQ(outcome.code, 0) << entry.path() << outcome.err;
        EXPECT_NE(outcome.out.find(" of " + entry.path().stem().string() + " (simulated)"), std::string::npos)
            << outcome.out;
    }
}

TEST_F(Simulate, RecordsNoEnergyIfADeviceHasNoClocks) {
    json mixed = mixed_cluster();
    mixed["groups"][0]["device"]["clocks"] = {
        {{"mhz", 1000}, {"speed", 1}, {"watts", {{"idle", 70}, {"busy", 160}}}}};
    write("half-metered.json", mixed.dump());

    for (const std::string ghosts : {"", " --math off"}) {
        const std::vector<json> steps = simulated("half-metered.json", "--pipe 4" + ghosts);

        EXPECT_FALSE(steps.at(0).contains("energy_j")) << ghosts;
        EXPECT_FALSE(json::parse(read(last_folder_ + "/summary.json")).contains("energy_j")) << ghosts;
    }
}

TEST_F(Simulate, UsesMeasuredKernelTimes) {
    const Outcome outcome =
        run("profile --corpus corpus.h5 --max-length 32 --threads 1 --batch 2 --repeat 1 --output "
            "profile.json");
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    json profile = json::parse(read("profile.json"));
    for (json& kernel : profile.at("kernels")) {
        kernel["seconds"] = 2 * kernel.at("seconds").get<double>();
    }
    profile["launch"] = 2 * profile.at("launch").get<double>();
    write("twice.json", profile.dump());

    const std::vector<json> rates = each(simulated("abacus.json", "--pipe 4"), "compute_s");
    const std::vector<json> once =
        each(simulated("abacus.json", "--pipe 4 --profile profile.json"), "compute_s");
    const std::vector<json> twice =
        each(simulated("abacus.json", "--pipe 4 --profile twice.json"), "compute_s");

    for (std::size_t rank = 0; rank < 4; ++rank) {
        const double seconds = once[1][rank];
        EXPECT_NE(seconds, rates[1][rank].get<double>());
        EXPECT_NEAR(twice[1][rank].get<double>(), 2 * seconds, rounding * seconds);
    }
    EXPECT_EQ(json::parse(read(last_folder_ + "/manifest.json")).at("kernel_times"),
              "twice.json: " + profile.at("machine").get<std::string>() + ", cpu, 1 thread");
}

class MeasuredSimulation : public Simulate {
protected:
    void SetUp() override {
        Simulate::SetUp();
        if (IsSkipped()) return;
        const Outcome outcome =
            run("profile --corpus corpus.h5 --max-length 32 --threads 1 --batch 2 --repeat 1 --output "
                "measured.json");
        ASSERT_EQ(outcome.code, 0) << outcome.err;
        write("fast.json", resolve_device_and_threads("abacus", 1));
        write("slow.json", resolve_device_and_threads("slide-rule", 3));
        write("mixed.json", mixed_cluster().dump());
    }

    std::string resolve_device_and_threads(const char* device, double times) const {
        json profile = json::parse(read("measured.json"));
        profile["machine"] = device;
        for (json& kernel : profile.at("kernels"))
            kernel["seconds"] = times * kernel.at("seconds").get<double>();
        profile["launch"] = times * profile.at("launch").get<double>();
        return profile.dump();
    }

    // Returns the seconds in kernels per rank in the second step.
    std::vector<double> compute(const std::string& cluster, const std::string& options) const {
        return each(simulated(cluster, options), "compute_s").at(1);
    }
};

// On each rank a kernel takes the same time as if all devices had the profile of its kind.
TEST_F(MeasuredSimulation, UsesTheProfileOfEachDevice) {
    const std::string grid = "--pipe 2 --data 2 --profile ";

    const std::vector<double> mixed = compute("mixed.json", grid + "slow.json,fast.json");
    const std::string source = json::parse(read(last_folder_ + "/manifest.json")).at("kernel_times");
    const std::vector<double> by_ranks = compute("mixed.json", grid + "0-1=fast.json,2-3=slow.json");
    const std::vector<double> fast = compute("mixed.json", grid + "fast.json");
    const std::vector<double> slow = compute("mixed.json", grid + "slow.json");

    for (std::size_t rank = 0; rank < 4; ++rank) {
        const double expected = (rank < 2 ? fast : slow)[rank];
        EXPECT_NEAR(mixed[rank], expected, rounding * expected) << rank;
        EXPECT_NEAR(by_ranks[rank], expected, rounding * expected) << rank;
        EXPECT_NEAR(slow[rank], 3 * fast[rank], 3 * rounding * fast[rank]) << rank;
    }
    EXPECT_EQ(
        source,
        "fast.json: abacus, cpu, 1 thread (ranks 0,1) and slow.json: slide-rule, cpu, 1 thread (ranks 2,3)");
}

// Replicas on different devices have different times, although the cluster file has only one kind.
TEST_F(MeasuredSimulation, ChargesPassesOfReplicasByTheirOwnDevices) {
    const std::vector<double> seconds =
        compute("abacus.json", "--pipe 2 --data 2 --math off --charge passes --profile fast.json,1=slow.json");

    constexpr double nearly = 0.01;  // because passes are charged as a whole
    EXPECT_NEAR(seconds[1], 3 * seconds[0], 3 * nearly * seconds[0]);
    EXPECT_NEAR(seconds[3], seconds[2], nearly * seconds[2]);
}

// Ranks 2 and 3 are slide rules, which take twice as long. All layers have the same measured time.
TEST_F(MeasuredSimulation, PartitionsLayersByDeviceSpeed) {
    json even = json::parse(read("measured.json"));
    for (json& layer : even.at("layers")) {
        for (json& seconds : layer.at("seconds")) seconds = 1;
    }
    even["machine"] = "abacus";
    write("fast.json", even.dump());
    for (json& layer : even.at("layers")) {
        for (json& seconds : layer.at("seconds")) seconds = 2;
    }
    even["machine"] = "slide-rule";
    write("slow.json", even.dump());

    simulated("mixed.json", "--pipe 4 --partition measured --profile fast.json,slow.json");
    const json stages = json::parse(read(last_folder_ + "/manifest.json")).at("layout").at("stages");

    EXPECT_EQ(stages.at(0).at("layers"), (json{0, 4}));
    EXPECT_EQ(stages.at(1).at("layers"), (json{4, 8}));
    EXPECT_EQ(stages.at(3).at("layers").at(1), 11);
}

TEST_F(MeasuredSimulation, RejectsADeviceWithoutProfile) {
    json third = mixed_cluster();
    third["groups"][1]["device"]["name"] = "pencil";
    write("third.json", third.dump());

    const Outcome outcome = run(std::string("simulate --ranks 4 --cluster third.json --pipe 4 ") +
                                "--profile fast.json,slow.json " + of_train);

    EXPECT_EQ(outcome.code, 2);
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(
        outcome.err.find("no file for the device of ranks 2,3, 'pencil' (the given files are for 'abacus' and "
                         "'slide-rule')"),
        std::string::npos)
        << outcome.err;
}

TEST_F(Simulate, ReportsTheSourceOfKernelTimes) {
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
    EXPECT_NE(measured.out.find("\nkernels   times as measured, profile.json: "), std::string::npos)
        << measured.out;
    EXPECT_EQ(by_rates.code, 0) << by_rates.err;
    EXPECT_EQ(by_rates.out.find("as measured"), std::string::npos) << by_rates.out;
    EXPECT_FALSE(json::parse(read("rates/manifest.json")).contains("kernel_times"));
}

TEST_F(Simulate, RejectsAProfileOfADifferentDtype) {
    json both = abacus();
    both["device"]["flops"]["f64"] = 1e9;
    write("both.json", both.dump());
    ASSERT_EQ(run("profile --corpus corpus.h5 --max-length 32 --repeat 1 --output profile.json").code, 0);

    const Outcome outcome = run(std::string("simulate --ranks 4 --cluster both.json --pipe 4 --dtype f64 ") +
                                "--profile profile.json " + of_train);

    EXPECT_EQ(outcome.code, 2);
    ASSERT_EQ(sentences(outcome).size(), 1U) << outcome.err;
    EXPECT_NE(outcome.err.find("profile.json was measured in f32, but this run computes in f64"),
              std::string::npos)
        << outcome.err;
}

}  // namespace
}  // namespace trireme::messages
