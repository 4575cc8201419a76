#include "trireme/base/json_text.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "error_message.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using validation::catch_message;

std::string lists(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

std::string objects(std::size_t levels) {
    std::string text = "1";
    for (std::size_t level = 0; level < levels; ++level) text = "{\"a\":" + text + "}";
    return text;
}

std::string refusal(const std::string& text) {
    return catch_message<ConfigError>([&] { parse_json<json>(text, "my.json"); });
}

TEST(JsonText, IsParsedUpToTheDepthLimit) {
    EXPECT_EQ(parse_json<json>(lists(max_json_depth), "my.json").dump(), lists(max_json_depth));
    EXPECT_EQ(parse_json<ordered_json>(objects(max_json_depth), "my.json").dump(), objects(max_json_depth));
    EXPECT_EQ(parse_json<json>("[[1],[2],{\"a\":[3]}]", "my.json").size(), 3U);
}

TEST(JsonText, IsRejectedBeyondTheDepthLimit) {
    const std::string expected =
        "my.json is nested deeper than 64 levels, the limit for inputs of Trireme; check that it is the right "
        "file";

    EXPECT_EQ(refusal(lists(max_json_depth + 1)), expected);
    EXPECT_EQ(refusal(objects(max_json_depth + 1)), expected);
    EXPECT_EQ(refusal(lists(100'000)), expected);
    EXPECT_EQ(refusal(std::string(100'000, '[')), expected);
}

TEST(JsonText, SaysWhyItCannotBeParsed) {
    EXPECT_EQ(refusal("[1, }"),
              "my.json is not valid JSON: it has an error at byte 5 of 5; correct it, or copy it again");
    EXPECT_EQ(refusal("[1e999]"),
              "my.json contains a number that is too large for a double; correct the number");
}

TEST(JsonText, YieldsNoValueIfTryParseFails) {
    EXPECT_FALSE(try_parse_json<json>("{\"step\": 1"));
    EXPECT_FALSE(try_parse_json<json>("[1e999]"));
    EXPECT_FALSE(try_parse_json<ordered_json>(lists(100'000)));
    EXPECT_EQ(try_parse_json<json>("{\"step\": 1}").value().at("step"), 1);
}

}  // namespace
}  // namespace trireme
