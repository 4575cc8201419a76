// Runs on described clusters, and their records.
#pragma once

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "messages/workplace.hpp"

namespace trireme::messages {

using nlohmann::json;

// Options of a run on 4 ranks whose micro-batches all have the same shape.
constexpr const char* of_train =
    "--corpus corpus.h5 --model gpt2-tiny --steps 2 --batch 8 --microbatches 4 --max-length 32 --length fixed "
    "--threads 1 --quiet ";
constexpr const char* of_plan =
    "--model gpt2-tiny --vocabulary 257 --microbatches 4 --max-length 32 --format json ";

inline json abacus() {
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

// Devices and links with which almost only matmuls take time.
inline json slow_abacus() {
    json cluster = abacus();
    cluster["device"].merge_patch(
        {{"flops", {{"f64", 1e8}, {"f32", 1e8}}}, {"launch", 1e-6}, {"bandwidth", 1e10}});
    for (const char* const links : {"inside", "between"})
        cluster[links] = {{"latency", 1e-6}, {"bandwidth", 1e9}};
    return cluster;
}

// The devices of slow_abacus() with three clocks.
inline json clocked_abacus() {
    json cluster = slow_abacus();
    for (const int mhz : {900, 600, 300})
        cluster["device"]["clocks"].push_back(
            {{"mhz", mhz}, {"speed", mhz / 900.0}, {"watts", {{"idle", 10}, {"busy", 20 + mhz / 10}}}});
    return cluster;
}

// The devices of slow_abacus() with clocks from 900 to 600 MHz in distances of 30 MHz.
inline json finely_clocked_abacus() {
    json cluster = slow_abacus();
    for (int mhz = 900; mhz >= 600; mhz -= 30) {
        const double speed = mhz / 900.0;
        cluster["device"]["clocks"].push_back(
            {{"mhz", mhz},
             {"speed", speed},
             {"watts", {{"idle", 10}, {"busy", 20 + 80 * speed * speed * speed}}}});
    }
    return cluster;
}

class Simulate : public Workplace {
protected:
    void SetUp() override {
        if (programs() == mpi_libraries()) GTEST_SKIP() << "built without SimGrid";
        make_corpus();
        write("abacus.json", abacus().dump());
    }

    // Returns the lines of steps.jsonl.
    std::vector<json> steps(const std::string& folder) const {
        std::istringstream lines(read(folder + "/steps.jsonl"));
        std::vector<json> found;
        for (std::string line; std::getline(lines, line);) found.push_back(json::parse(line));
        return found;
    }

    // Returns the values of a field of steps.jsonl, of the lines that have it.
    std::vector<json> list(const std::string& folder, const char* field) const {
        std::vector<json> values;
        for (const json& line : steps(folder))
            if (line.contains(field)) values.push_back(line.at(field));
        return values;
    }

    std::vector<json> simulated(const std::string& cluster, const std::string& options) const {
        const std::string folder = "run-" + std::to_string(content().size());
        const Outcome outcome =
            run("simulate --ranks 4 --cluster " + cluster + " --run-dir " + folder + " " + of_train + options);
        EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
        last_folder_ = folder;
        last_words_ = outcome.out;
        return steps(folder);
    }

    // Returns the lines of decisions.jsonl.
    std::vector<json> decisions(const std::string& folder) const {
        std::istringstream lines(read(folder + "/decisions.jsonl"));
        std::vector<json> made;
        for (std::string line; std::getline(lines, line);) made.push_back(json::parse(line));
        return made;
    }

    json planned(const std::string& options) const {
        const Outcome outcome = run("plan --format json " + options);
        EXPECT_EQ(outcome.code, 0) << outcome.err;
        return json::parse(outcome.out);
    }

    mutable std::string last_folder_;
    mutable std::string last_words_;
};

template <class Field>
std::vector<json> each(const std::vector<json>& steps, const Field& field) {
    std::vector<json> found;
    for (const json& step : steps) {
        if (step.contains("seconds")) found.push_back(step.at(field));
    }
    return found;
}

}  // namespace trireme::messages
