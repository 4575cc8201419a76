#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "unit/app/arguments.hpp"
#include "unit/app/temporary_file.hpp"

namespace trireme::app {
namespace {

using Files = std::vector<config::ProfileFile>;

Files files_of(const std::string& text) { return train_config("--profile " + text).costs.profiles; }

std::string profile_complaint(const std::string& text) {
    return complaint("train --corpus a.h5 --steps 5 --profile " + text);
}

TEST(ProfileOption, NamesFilesAndTheirRanks) {
    EXPECT_EQ(train_config("").costs.profiles, Files{});
    EXPECT_EQ(files_of("a.json"), (Files{{"a.json"}}));
    EXPECT_EQ(files_of("a.json,b.json"), (Files{{"a.json"}, {"b.json"}}));
    EXPECT_EQ(files_of("0-3=a.json,4=b.json,c.json"),
              (Files{{"a.json", config::RankSpan{0, 3}}, {"b.json", config::RankSpan{4, 4}}, {"c.json"}}));
}

TEST(ProfileOption, ReadsAPrefixThatIsNoRankRangeAsPartOfTheFileName) {
    EXPECT_EQ(files_of("runs/lr=3/a.json"), (Files{{"runs/lr=3/a.json"}}));
    EXPECT_EQ(files_of("0=lr=3.json"), (Files{{"lr=3.json", config::RankSpan{0, 0}}}));
}

TEST(ProfileOption, IsReadBackAsItWasPrinted) {
    const config::RunConfig config = train_config("--profile 0-3=a.json,4=b.json,c.json");
    const TemporaryFile file("profiles.ini", config.ini_text);

    const config::RunConfig again = train_config("--config " + file.path());

    EXPECT_NE(config.ini_text.find("profile = 0-3=a.json,4=b.json,c.json\n"), std::string::npos);
    EXPECT_EQ(again.costs.profiles, config.costs.profiles);
}

TEST(ProfileOption, RejectsMissingFilesAndMalformedRanks) {
    const std::string files =
        "--profile expects files such as fast.json,slow.json, or 0-3=fast.json,4-7=slow.json, not ";

    EXPECT_EQ(profile_complaint("a.json,"), files + "'a.json,'");
    EXPECT_EQ(profile_complaint("3="), files + "'3='");
    EXPECT_EQ(profile_complaint("3-1=a.json"),
              "--profile expects ranks from the lower to the higher, such as 0-3=fast.json, not '3-1=a.json'");
    EXPECT_NE(profile_complaint("1-=a.json").find("--profile rank expects a whole number"), std::string::npos)
        << profile_complaint("1-=a.json");
    EXPECT_NE(profile_complaint("0-99999999999=a.json").find("--profile rank expects"), std::string::npos);
}

}  // namespace
}  // namespace trireme::app
