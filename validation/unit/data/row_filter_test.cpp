#include "trireme/data/row_filter.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

using validation::catch_message;
using validation::says;

SourceRow parse_row(std::string_view line) {
    SourceRow row;
    parse_json_row(line, row);
    return row;
}

TEST(RowFilter, KeepsRowsWhoseFieldContainsOrEqualsTheText) {
    const SourceRow spark = parse_row(R"({"repo": "apache/spark", "stars": 5, "text": "t"})");

    EXPECT_TRUE(RowFilter("").select(spark));
    EXPECT_TRUE(RowFilter("repo~spark").select(spark));
    EXPECT_TRUE(RowFilter("repo=apache/spark").select(spark));
    EXPECT_FALSE(RowFilter("repo=spark").select(spark));
    EXPECT_TRUE(RowFilter("repo~apache&stars=5").select(spark));
    EXPECT_FALSE(RowFilter("repo~apache&stars=4").select(spark));
}

TEST(RowFilter, FindsAFieldUnderBothOfItsNames) {
    const SourceRow original = parse_row(R"({"repo": "apache/spark", "text": "t"})");
    const SourceRow hub = parse_row(R"({"repository_name": "apache/spark", "text": "t"})");

    EXPECT_TRUE(RowFilter("repository_name~spark").select(original));
    EXPECT_TRUE(RowFilter("repo~spark").select(hub));
}

TEST(RowFilter, RejectsMalformedConditions) {
    const auto message = [](const char* where) {
        return catch_message<ConfigError>([where] { RowFilter filter(where); });
    };

    EXPECT_TRUE(
        says(message("spark"), "'spark' is not a condition; write field~text (contains) or field=text (is)"));
    EXPECT_TRUE(says(message("repo~a&~b"), "'~b' is not a condition"));
}

TEST(RowFilter, ListsTheExistingFieldsIfAFieldIsUnknown) {
    RowFilter filter("owner~spark");
    filter.select(parse_row(R"({"repo": "a", "text": "t"})"));

    EXPECT_TRUE(says(catch_message<ConfigError>([&] { filter.check_selection(); }),
                     "--where 'owner~spark': no row has the field 'owner'; the fields of the first row are repo, text"));
}

TEST(RowFilter, ShowsValuesOfTheFieldIfNoRowMatches) {
    RowFilter filter("repo~x");
    filter.select(parse_row(R"({"repo": "apache/spark", "text": "t"})"));
    filter.select(parse_row(R"({"repo": "other", "text": "t"})"));

    EXPECT_TRUE(says(
        catch_message<ConfigError>([&] { filter.check_selection(); }),
        "0 of 2 rows match --where 'repo~x'; the first distinct values of repo are 'apache/spark', 'other';"));
}

}  // namespace
}  // namespace trireme::data
