#include "data/source/synthetic.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "trireme/base/sha256.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {
namespace {

std::vector<SourceRow> sample(std::size_t count, std::uint64_t seed = 1) {
    RowReader reader({.inputs = {}, .unit = RowUnit::line, .synthetic = "csn", .count = count, .seed = seed});
    std::vector<SourceRow> rows;
    SourceRow row;
    while (reader.next(row)) rows.push_back(row);
    return rows;
}

std::string field(const SourceRow& row, std::string_view name) {
    for (const SourceRow::Field& candidate : row.fields)
        if (candidate.name == name) return candidate.value;
    return "";
}

// Runs are compared on these texts. A change here changes the losses in all earlier records of such runs.
TEST(Synthetic, IsTheSameTextOnEveryMachine) {
    Sha256 sum;
    for (const SourceRow& row : sample(700)) sum.update(row.text());

    EXPECT_EQ(sum.hex(), "7ca10be6a88aa6a4ab3df6134e7c1744f0cc342a76d21be2389715336ac5e0e4");
}

TEST(Synthetic, DependsOnTheSeed) { EXPECT_NE(sample(1, 1)[0].text(), sample(1, 2)[0].text()); }

TEST(Synthetic, GivesTheSameRowsForAnyCount) { EXPECT_EQ(sample(20)[7].text(), sample(500)[7].text()); }

TEST(Synthetic, HasTheFieldsOfCodeSearchNet) {
    for (const SourceRow& row : sample(50)) {
        ASSERT_EQ(row.fault, "");
        for (const char* name :
             {"repo", "path", "func_name", "original_string", "code", "docstring", "sha", "url"})
            EXPECT_NE(field(row, name), "") << name;
        EXPECT_EQ(field(row, "language"), "python");
    }
}

TEST(Synthetic, HasSeveralRepositoriesIncludingSpark) {
    std::map<std::string, int> rows;

    for (const SourceRow& row : sample(700)) ++rows[field(row, "repo")];

    EXPECT_EQ(rows.size(), 5U);
    EXPECT_GT(rows["apache/spark"], 200);
    EXPECT_LT(rows["apache/spark"], 400);
}

TEST(Synthetic, FollowsThePublishedLengths) {
    std::vector<double> lengths;
    for (const SourceRow& row : sample(700)) lengths.push_back(static_cast<double>(row.text().size()));
    std::sort(lengths.begin(), lengths.end());
    const auto at = [&lengths](double share) { return lengths[static_cast<std::size_t>(share * 700)]; };

    // A body ends with a whole statement, so short bodies miss their target length by some characters.
    EXPECT_NEAR(at(0.10), 292, 30);
    EXPECT_NEAR(at(0.25), 411, 25);
    EXPECT_NEAR(at(0.50), 670, 25);
    EXPECT_NEAR(at(0.75), 1144, 40);
    EXPECT_NEAR(at(0.90), 1947, 80);
    EXPECT_GT(lengths.back(), 15'000);
    EXPECT_LT(lengths.back(), 22'300);
    EXPECT_GT(lengths.front(), 100);
}

TEST(Synthetic, RepeatsItsParametersInDocstringAndBody) {
    for (const SourceRow& row : sample(100)) {
        const std::string text(row.text());
        const std::size_t open = text.find('(');
        const std::size_t begin = text.compare(open + 1, 6, "self, ") == 0 ? open + 7 : open + 1;
        const std::string parameter = text.substr(begin, text.find_first_of(",)", begin) - begin);
        const std::size_t docstring = text.find("\"\"\"");
        const std::size_t body = text.find("\"\"\"", docstring + 3);

        EXPECT_NE(text.find(parameter, docstring), std::string::npos) << text;
        EXPECT_LT(text.find(parameter, body), text.size()) << text;
    }
}

double unigram_bits(const std::vector<SourceRow>& rows) {
    std::array<double, 256> counts{};
    double total = 0;
    for (const SourceRow& row : rows)
        for (const char c : row.text()) ++counts[static_cast<unsigned char>(c)], ++total;
    double bits = 0;
    for (const double count : counts)
        if (count > 0) bits -= count / total * std::log2(count / total);
    return bits;
}

// A model must have many words to learn, in texts that differ from each other.
TEST(Synthetic, HasVariedCharactersAndFunctionNames) {
    const std::vector<SourceRow> rows = sample(300);
    std::set<std::string> names;
    for (const SourceRow& row : rows) names.insert(field(row, "func_name"));

    EXPECT_GT(unigram_bits(rows), 4.0);
    EXPECT_GT(names.size(), 200U);
}

}  // namespace
}  // namespace trireme::data
