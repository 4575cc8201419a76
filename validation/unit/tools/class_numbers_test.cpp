#include <gtest/gtest.h>

#include "error_message.hpp"
#include "tools/prepare/row_encoder.hpp"

namespace trireme::tools {
namespace {

using validation::says;

struct Taken {
    std::uint32_t label = 77;
    std::string fault;
};

Taken assign_class(ClassNumbers& classes, std::string_view json) {
    data::SourceRow row;
    parse_json_row(json, row);
    Taken taken;
    taken.fault = classes.assign_class(row, taken.label);
    return taken;
}

TEST(ClassNumbers, KeepWholeNumbers) {
    ClassNumbers classes("label");

    EXPECT_EQ(assign_class(classes, R"({"text": "a", "label": 5})").label, 5U);
    EXPECT_EQ(assign_class(classes, R"({"text": "a", "label": 0})").label, 0U);
    EXPECT_TRUE(classes.names().empty());
}

TEST(ClassNumbers, NumberTextsInOrderOfAppearance) {
    ClassNumbers classes("label");

    EXPECT_EQ(assign_class(classes, R"({"text": "a", "label": "spam"})").label, 0U);
    EXPECT_EQ(assign_class(classes, R"({"text": "a", "label": "ham"})").label, 1U);
    EXPECT_EQ(assign_class(classes, R"({"text": "a", "label": "spam"})").label, 0U);
    EXPECT_EQ(assign_class(classes, R"({"text": "a", "label": "7"})").label, 2U);
    EXPECT_EQ(classes.names(), (std::vector<std::string>{"spam", "ham", "7"}));
}

TEST(ClassNumbers, TreatTruthValuesAsTexts) {
    ClassNumbers classes("is_new");

    EXPECT_EQ(assign_class(classes, R"({"text": "a", "is_new": true})").label, 0U);
    EXPECT_EQ(assign_class(classes, R"({"text": "a", "is_new": false})").label, 1U);
    EXPECT_EQ(classes.names(), (std::vector<std::string>{"true", "false"}));
}

TEST(ClassNumbers, RejectMoreThan65536Names) {
    ClassNumbers classes("label");
    const auto named = [&](int name) {
        return assign_class(classes, R"({"text": "a", "label": "n)" + std::to_string(name) + "\"}");
    };
    for (int name = 0; name < 65536; ++name) ASSERT_EQ(named(name).fault, "");

    EXPECT_EQ(named(65536).fault, "the class 'n65536' is one too many; a corpus has at most 65536 classes");
    EXPECT_EQ(named(65535).label, 65535U);
}

TEST(ClassNumbers, DescribeEachFault) {
    ClassNumbers numbers("label");
    ClassNumbers names("label");
    assign_class(numbers, R"({"text": "a", "label": 5})");
    assign_class(names, R"({"text": "a", "label": "spam"})");

    EXPECT_TRUE(says(assign_class(numbers, R"({"text": "a"})").fault,
                     "the row has no field 'label' with a number, a text, true or false as the class"));
    EXPECT_TRUE(says(assign_class(numbers, R"({"text": "a", "label": [1]})").fault,
                     "the row has no field 'label' with"));
    EXPECT_TRUE(says(assign_class(numbers, R"({"text": "a", "label": null})").fault,
                     "the class in field 'label' is empty"));
    EXPECT_TRUE(says(assign_class(numbers, R"({"text": "a", "label": -1})").fault,
                     "the class in field 'label' is -1; classes are whole numbers from 0 to 65535, or texts"));
    EXPECT_TRUE(says(assign_class(numbers, R"({"text": "a", "label": 65536})").fault,
                     "is 65536; classes are whole numbers from 0 to 65535, or texts"));
    EXPECT_TRUE(
        says(assign_class(numbers, R"({"text": "a", "label": 1.5})").fault, "is 1.5; classes are whole"));
    EXPECT_TRUE(
        says(assign_class(numbers, R"({"text": "a", "label": 4000000000})").fault, "is 4000000000; classes"));
    EXPECT_TRUE(says(assign_class(numbers, R"({"text": "a", "label": "ham"})").fault,
                     "is the text 'ham', but earlier rows have numbers"));
    EXPECT_TRUE(says(assign_class(names, R"({"text": "a", "label": 3})").fault,
                     "is the number 3, but earlier rows have texts such as 'spam'"));
}

}  // namespace
}  // namespace trireme::tools
