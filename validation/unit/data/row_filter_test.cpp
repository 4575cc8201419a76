#include "trireme/data/row_filter.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

using validation::message_of;
using validation::says;

SourceRow row_of(std::string_view line) {
    SourceRow row;
    parse_json_row(line, row);
    return row;
}

TEST(RowFilter, KeepsRowsThatContainOrAreTheText) {
    const SourceRow spark = row_of(R"({"repo": "apache/spark", "stars": 5, "text": "t"})");

    EXPECT_TRUE(RowFilter("").keeps(spark));
    EXPECT_TRUE(RowFilter("repo~spark").keeps(spark));
    EXPECT_TRUE(RowFilter("repo=apache/spark").keeps(spark));
    EXPECT_FALSE(RowFilter("repo=spark").keeps(spark));
    EXPECT_TRUE(RowFilter("repo~apache&stars=5").keeps(spark));
    EXPECT_FALSE(RowFilter("repo~apache&stars=4").keeps(spark));
}

TEST(RowFilter, FindsAFieldUnderBothNamings) {
    const SourceRow original = row_of(R"({"repo": "apache/spark", "text": "t"})");
    const SourceRow hub = row_of(R"({"repository_name": "apache/spark", "text": "t"})");

    EXPECT_TRUE(RowFilter("repository_name~spark").keeps(original));
    EXPECT_TRUE(RowFilter("repo~spark").keeps(hub));
}

TEST(RowFilter, RefusesWhatIsNoCondition) {
    const auto message = [](const char* where) {
        return message_of<ConfigError>([where] { RowFilter filter(where); });
    };

    EXPECT_TRUE(
        says(message("spark"), "'spark' is no condition; write field~text (contains) or field=text (is)"));
    EXPECT_TRUE(says(message("repo~a&~b"), "'~b' is no condition"));
}

TEST(RowFilter, NamesTheFieldsThereAre) {
    RowFilter filter("owner~spark");
    filter.keeps(row_of(R"({"repo": "a", "text": "t"})"));

    EXPECT_TRUE(says(message_of<ConfigError>([&] { filter.check_selection(); }),
                     "--where 'owner~spark': no row has the field 'owner'; the first row has repo, text"));
}

TEST(RowFilter, SaysWhatTheRowsHaveWhenNothingMatches) {
    RowFilter filter("repo~x");
    filter.keeps(row_of(R"({"repo": "apache/spark", "text": "t"})"));
    filter.keeps(row_of(R"({"repo": "other", "text": "t"})"));

    EXPECT_TRUE(says(message_of<ConfigError>([&] { filter.check_selection(); }),
                     "0 of 2 rows match --where 'repo~x'; repo is 'apache/spark', 'other' in the first rows;"));
}

}  // namespace
}  // namespace trireme::data
