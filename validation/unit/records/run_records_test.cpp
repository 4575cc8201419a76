// Tests that every record survives a round trip through JSON, and that the documentation lists its fields.
#include "trireme/records/run_records.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "error_message.hpp"
#include "records/step_fields.hpp"
#include "records/summary_fields.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::records {
namespace {

using nlohmann::json;
using validation::catch_message;
using Names = std::set<std::string>;

// Gives every member a value of its own, and collects the names of the fields.
class Filler {
public:
    explicit Filler(bool truth) : truth_(truth) {}

    void operator()(const char* name, auto& member) { add(name), set(member); }
    void count(const char* name, Figure& number) { add(name), number = ++values_; }
    void constant(const char* name, const auto&) { add(name); }
    void json(const char* name, std::string& text) { add(name), text = R"({"layers":1})"; }
    void visit_one_of(const char* name, const char* other, bool& is_first, double& number) {
        add(name), add(other), is_first = truth_, set(number);
    }

    Names names;

private:
    void add(const char* name) { names.insert(name); }
    template <class Value>
    void set(std::optional<Value>& value) {
        set(value.emplace());
    }
    template <class Value>
    void set(std::vector<Value>& list) {
        for (int i = 0; i < 2; ++i) set(list.emplace_back());
    }
    void set(config::SlowRank& slow) { slow.rank = ++values_; }
    void set(std::string& text) { text = std::to_string(++values_); }
    void set(bool& value) { value = truth_; }
    void set(double& number) { number = ++values_ + 0.5; }
    void set(std::size_t& number) { number = static_cast<std::size_t>(++values_); }
    void set(int& number) { number = ++values_; }

    bool truth_;
    int values_ = 0;
};

template <class Record>
Record filled(bool truth = true) {
    Record record;
    Filler filler(truth);
    visit_fields(filler, record);
    return record;
}

template <class Record>
Names field_names() {
    Record record;
    Filler filler(true);
    visit_fields(filler, record);
    return filler.names;
}

// Tests both values of flags, since a flag that is not set is absent.
template <class Record>
void expect_round_trip() {
    Names written;
    for (const bool truth : {false, true}) {
        const nlohmann::ordered_json first = to_json(filled<Record>(truth));
        const auto read = read_record<Record>(json::parse(first.dump()), "a record");
        EXPECT_EQ(to_json(read).dump(), first.dump());
        for (const std::string& name : field_names<Record>())
            if (first.contains(json::json_pointer("/" + name))) written.insert(name);
    }
    EXPECT_EQ(written, field_names<Record>());
}

TEST(RunRecords, AreReadAsTheyWereWritten) {
    expect_round_trip<Manifest>();
    expect_round_trip<StartLine>();
    expect_round_trip<StepLine>();
    expect_round_trip<EvaluationLine>();
    expect_round_trip<EarlyEnd>();
    expect_round_trip<Summary>();
}

TEST(RunRecords, MayLackAnyField) {
    EXPECT_EQ(read_record<Summary>(json::object(), "summary.json").verdict, "");
    EXPECT_FALSE(read_record<StepLine>(json{{"loss", nullptr}}, "a line").loss);
    EXPECT_FALSE(read_record<Summary>(json{{"loss", 3}}, "summary.json").first_loss);
}

TEST(RunRecords, NameTheFieldOfTheWrongType) {
    const json slow = json::parse(R"({"slow":[{"rank":"none"}]})");

    EXPECT_EQ(
        catch_message<ConfigError>([&] { read_record<Manifest>(slow, "manifest.json"); }),
        "manifest.json: 'slow/rank' is not a whole number; the records are damaged, or another version of "
        "trireme wrote them");
}

// Returns the names in the first column of the table in a section of the document.
Names documented(const std::string& section) {
    const std::string text = validation::read_whole(TRIREME_SOURCE_DIR "/docs/reference/records.md");
    const std::size_t begin = text.find("\n## " + section + "\n");
    const std::string table = text.substr(begin, text.find("\n## ", begin + 1) - begin);
    Names names;
    const std::regex cell("\n\\| ([^|]*)\\|"), name("`([a-z0-9_]+)`");
    for (std::sregex_iterator row(table.begin(), table.end(), cell), end; row != end; ++row) {
        const std::string first = (*row)[1];
        for (std::sregex_iterator at(first.begin(), first.end(), name); at != end; ++at) names.insert((*at)[1]);
    }
    return names;
}

template <class Record>
Names top_names() {
    Names names;
    for (const std::string& name : field_names<Record>()) names.insert(name.substr(0, name.find('/')));
    return names;
}

TEST(RunRecords, HaveAllTheirFieldsDocumented) {
    EXPECT_EQ(documented("manifest.json"), top_names<Manifest>());
    EXPECT_EQ(documented("starts.jsonl"), top_names<StartLine>());
    EXPECT_EQ(documented("steps.jsonl"), top_names<StepLine>());
    EXPECT_EQ(documented("summary.json"), top_names<Summary>());
}

}  // namespace
}  // namespace trireme::records
