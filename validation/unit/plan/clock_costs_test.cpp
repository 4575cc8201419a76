#include "trireme/plan/clock_costs.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::plan {
namespace {

// The seconds at a clock consist of cycles and of a constant part. The watts rise with the clock.
ClockCost make_cost(int mhz) {
    return {.mhz = mhz,
            .forward = 9.0 / mhz + 0.01,
            .backward = 20.0 / mhz + 0.01,
            .update = 0.001,
            .idle_watts = 70,
            .busy_watts = 90 + mhz / 10.0,
            .joules = 30,
            .step_seconds = 100.0 / mhz};
}

ClockCosts make_costs() {
    const ReplicaCosts replica{.layers = {{0, 6}, {12, 6}},
                               .ranks = 2,
                               .device = "V100",
                               .clocks = {1530, 1500, 1440, 1350, 1300},
                               .measured = {make_cost(1530), make_cost(1440), make_cost(1350)}};
    return {.stages = 4, .replicas = {replica}};
}

TEST(ClockCosts, SurviveTheirFile) {
    const ClockCosts costs = make_costs();
    const ClockCosts read = parse_clock_costs(to_json(costs), "costs.json");

    EXPECT_EQ(read.stages, 4U);
    EXPECT_EQ(read.file, "costs.json");
    ASSERT_EQ(read.replicas.size(), 1U);
    EXPECT_TRUE(read.replicas[0].is_of_same_replicas(costs.replicas[0]));
    EXPECT_EQ(read.replicas[0].measured, costs.replicas[0].measured);
}

// The lowest clock is not measured, so its costs are not known.
TEST(ClockCosts, AreInterpolatedBetweenMeasuredClocks) {
    const std::vector<ClockCost> all = interpolate_clocks(make_costs().replicas[0]);

    ASSERT_EQ(all.size(), 4U);
    EXPECT_EQ(all[0], make_cost(1530));
    EXPECT_EQ(all[3], make_cost(1350));
    const ClockCost exact = make_cost(1500);
    EXPECT_EQ(all[1].mhz, 1500);
    EXPECT_NEAR(all[1].forward, exact.forward, 1e-15);
    EXPECT_NEAR(all[1].backward, exact.backward, 1e-15);
    EXPECT_NEAR(all[1].busy_watts, exact.busy_watts, 1e-12);
    EXPECT_NEAR(all[1].idle_watts, exact.idle_watts, 1e-12);
}

TEST(ClockCosts, AreRefusedWithTheWrongKey) {
    const auto expect_refusal = [](const char* path, const nlohmann::json& value, const std::string& sentence) {
        nlohmann::json file = nlohmann::json::parse(to_json(make_costs()));
        file[nlohmann::json::json_pointer(path)] = value;
        EXPECT_EQ(validation::catch_message<ConfigError>([&] { parse_clock_costs(file.dump(), "f"); }),
                  sentence);
    };
    const std::string measured = "f: replicas[0].measured";

    expect_refusal("/replicas/0/measured/1/seconds/forward", 0,
                   measured + "[1].seconds.forward is 0; it must be above 0");
    expect_refusal("/replicas/0/measured/1/watts/busy", 0,
                   measured + "[1].watts.busy is 0; it must be above 0");
    expect_refusal("/replicas/0/measured/0/mhz", 1500,
                   measured + "[0].mhz is 1500; it must be the highest of \"clocks\"");
    expect_refusal("/replicas/0/measured/2/mhz", 1500,
                   measured + "[2].mhz is 1500; it must be below 1440, the clock before it");
    expect_refusal("/replicas/0/measured/2/mhz", 1351,
                   measured + "[2].mhz is 1351; it must be one of \"clocks\"");
    expect_refusal(
        "/replicas/0/clocks/0", 1400,
        "f: replicas[0].clocks is [1400,1500,1440,1350,1300]; it must be a list from the highest clock "
        "to the lowest one");
    expect_refusal("/schema", 2, "f: schema is 2; it must be 1 for this program; measure the costs again");
    nlohmann::json infinite = nlohmann::json::parse(to_json(make_costs()));
    infinite["replicas"][0]["measured"][0]["joules"] = nullptr;
    EXPECT_NE(validation::catch_message<ConfigError>([&] {
                  parse_clock_costs(infinite.dump(), "f");
              }).find(measured + "[0].joules is null"),
              std::string::npos);
}

}  // namespace
}  // namespace trireme::plan
