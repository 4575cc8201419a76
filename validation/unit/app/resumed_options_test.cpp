#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

config::SavedOptions saved_of(const std::string& options) {
    config::RunConfig config = train_config(options);
    return {values_to_save(train_options(config)), 4};
}

std::vector<std::string> taken(const config::SavedOptions& saved, const std::set<std::string>& given) {
    config::RunConfig config;
    std::vector<std::string> options;
    for (const Setting& setting : settings_to_take(saved, given, train_options(config)))
        options.push_back(setting.name + "=" + setting.value);
    return options;
}

bool has(const std::vector<std::string>& options, const std::string& wanted) {
    return std::find(options.begin(), options.end(), wanted) != options.end();
}

TEST(ResumedOptions, AreAllButThoseOfOneStart) {
    const std::vector<std::string> options =
        taken(saved_of("--lr 0.01 --pipe 2 --slow rank=0,factor=2 --threads 3 --device reference --run-dir a "
                       "--time-limit 1h"),
              {});

    for (const std::string wanted : {"corpus=a.h5", "steps=5", "lr=0.01", "pipe=2"})
        EXPECT_TRUE(has(options, wanted));
    for (const std::string& option : options) {
        const std::string name = option.substr(0, option.find('='));
        for (const char* const own :
             {"run-dir", "resume", "threads", "device", "time-limit", "dry-run", "slow"})
            EXPECT_NE(name, own);
    }
}

TEST(ResumedOptions, GiveWayToALayoutAndALengthThatAreGiven) {
    const config::SavedOptions saved = saved_of("--pipe 2 --data 3 --partition 1,1,1,3");

    EXPECT_TRUE(has(taken(saved, {"lr"}), "data=3"));
    const std::vector<std::string> options = taken(saved, {"tensor", "epochs"});
    for (const std::string gone : {"pipe=2", "data=3", "partition=1,1,1,3", "steps=5"})
        EXPECT_FALSE(has(options, gone));
}

TEST(ResumedOptions, GoWithWhatTheyNeeded) {
    config::RunConfig config;
    const std::vector<OptionGroup> options = train_options(config);
    config.policy.look_every = 5;
    config.optimizer.schedule = optim::RateSchedule::constant;
    config.optimizer.min_rate = 1e-5;

    reset_without_effect({"straggler", "min-lr"}, options);

    EXPECT_EQ(config.policy.look_every, config::PolicyConfig{}.look_every);
    EXPECT_EQ(config.optimizer.min_rate, 1e-5);  // it was given, so it stays and will be refused
}

TEST(ResumedOptions, LeaveOutWhatThisVersionDoesNotKnow) {
    config::SavedOptions saved = saved_of("");
    saved.values.push_back({"of-the-future", "1"});

    EXPECT_FALSE(has(taken(saved, {}), "of-the-future=1"));
}

TEST(ResumedOptions, AreComparedByValue) {
    const config::SavedOptions saved = saved_of("--lr 0.01 --clip 2");
    config::RunConfig now = train_config("--lr 1e-2 --clip 3 --decisions d.jsonl");

    EXPECT_EQ(changes_since(saved, train_options(now)),
              (std::vector<std::string>{"--clip was 2", "--decisions was not given"}));
}

}  // namespace
}  // namespace trireme::app
