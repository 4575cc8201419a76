#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

config::SavedOptions save_options(const std::string& options) {
    config::RunConfig config = train_config(options);
    return {collect_values_to_save(make_train_options(config)), 4};
}

std::vector<std::string> taken(const config::SavedOptions& saved, const std::set<std::string>& given) {
    config::RunConfig config;
    std::vector<std::string> options;
    for (const Setting& setting : select_saved_settings(saved, given, make_train_options(config)))
        options.push_back(setting.name + "=" + setting.value);
    return options;
}

bool has(const std::vector<std::string>& options, const std::string& wanted) {
    return std::find(options.begin(), options.end(), wanted) != options.end();
}

TEST(ResumedOptions, IncludeAllExceptThoseOfASingleStart) {
    const std::vector<std::string> options = taken(
        save_options("--lr 0.01 --pipe 2 --slow rank=0,factor=2 --threads 3 --device reference --run-dir a "
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

TEST(ResumedOptions, OmitLayoutAndDurationIfTheseAreGiven) {
    const config::SavedOptions saved = save_options("--pipe 2 --data 3 --partition 1,1,1,3");

    EXPECT_TRUE(has(taken(saved, {"lr"}), "data=3"));
    const std::vector<std::string> options = taken(saved, {"tensor", "epochs"});
    for (const std::string gone : {"pipe=2", "data=3", "partition=1,1,1,3", "steps=5"})
        EXPECT_FALSE(has(options, gone));
}

TEST(ResumedOptions, AreResetIfTheirRequirementIsGone) {
    config::RunConfig config;
    const std::vector<OptionGroup> options = make_train_options(config);
    config.policy.look_every = 5;
    config.optimizer.schedule = optim::RateSchedule::constant;
    config.optimizer.min_rate = 1e-5;

    reset_ineffective_options({"straggler", "min-lr"}, options);

    EXPECT_EQ(config.policy.look_every, config::PolicyConfig{}.look_every);
    EXPECT_EQ(config.optimizer.min_rate, 1e-5);  // it was given, so it stays and will be rejected
}

TEST(ResumedOptions, OmitOptionsThatThisVersionDoesNotKnow) {
    config::SavedOptions saved = save_options("");
    saved.values.push_back({"of-the-future", "1"});

    EXPECT_FALSE(has(taken(saved, {}), "of-the-future=1"));
}

TEST(ResumedOptions, AreComparedByValue) {
    const config::SavedOptions saved = save_options("--lr 0.01 --clip 2");
    config::RunConfig now = train_config("--lr 1e-2 --clip 3 --decisions d.jsonl");

    EXPECT_EQ(describe_changes(saved, make_train_options(now)),
              (std::vector<std::string>{"--clip was 2", "--decisions was not given"}));
}

}  // namespace
}  // namespace trireme::app
