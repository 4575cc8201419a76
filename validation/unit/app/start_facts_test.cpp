#include <gtest/gtest.h>

#include <algorithm>

#include "app/program.hpp"
#include "trireme/base/version.hpp"
#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

std::vector<comm::CommonSetting> parse_facts(const std::string& line) {
    return list_common_settings(parse(line));
}

// Returns the names of the facts that differ between two command lines.
std::vector<std::string> differences(const std::string& first, const std::string& second) {
    const std::vector<comm::CommonSetting> a = parse_facts(first);
    const std::vector<comm::CommonSetting> b = parse_facts(second);
    EXPECT_EQ(a.size(), b.size());
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
        if (a[i].value != b[i].value) names.push_back(a[i].name);
    }
    return names;
}

using Names = std::vector<std::string>;

const std::string train = "train --corpus c.h5 --steps 2 ";

TEST(StartFacts, BeginWithTheCommandAndTheVersion) {
    const std::vector<comm::CommonSetting> facts = parse_facts(train);

    EXPECT_EQ(facts.at(0).value, "train");
    EXPECT_EQ(facts.at(1).name, "the source version");
    EXPECT_EQ(facts.at(1).value, describe_version());
    EXPECT_EQ(parse_facts("evaluate --resume run --corpus c.h5").at(0).value, "evaluate");
    EXPECT_EQ(parse_facts("profile --output p.json").at(0).value, "profile");
}

TEST(StartFacts, OmitTheVersionForDoctor) {
    const std::vector<comm::CommonSetting> facts = parse_facts("doctor");

    EXPECT_EQ(facts.at(0).value, "doctor");
    EXPECT_EQ(facts.at(1).name, "--scratch");
}

TEST(StartFacts, NameTheOptionsThatDiffer) {
    EXPECT_EQ(differences(train, train + "--seed 3"), Names{"--seed"});
    EXPECT_EQ(differences(train, train + "--clip 0.5 --lr 1"), (Names{"--lr", "--clip"}));
    EXPECT_EQ(differences(train, train + "--dump-config"), Names{"--dump-config"});
    EXPECT_EQ(differences("evaluate --resume a --corpus c.h5", "evaluate --resume b --corpus c.h5"),
              Names{"--resume"});
    EXPECT_EQ(differences("profile --output p.json", "profile --output p.json --width 16"), Names{"--width"});
    EXPECT_EQ(differences("doctor", "doctor --json"), Names{"--json"});
}

TEST(StartFacts, DoNotDependOnTheSpellingOfOptions) {
    EXPECT_EQ(differences(train + "--lr 1e-3 --batch 4", train + "--batch=4 --lr 0.001"), Names{});
}

TEST(StartFacts, OmitOptionsThatMayDifferBetweenRanks) {
    EXPECT_EQ(differences(train, train + "--run-dir run --threads 3"), Names{});
}

TEST(StallSeconds, AreTakenFromTheCommandLine) {
    EXPECT_EQ(find_stall_seconds(parse(train + "--stall-timeout 7")), 7);
    EXPECT_EQ(find_stall_seconds(parse("evaluate --resume run --corpus c.h5 --stall-timeout 8")), 8);
    EXPECT_EQ(find_stall_seconds(parse("doctor")), 60);
}

}  // namespace
}  // namespace trireme::app
