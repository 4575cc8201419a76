// Parses a line of JSON as a row of a source.
#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/data/source_row.hpp"

namespace trireme::data {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 5> text_fields = {"whole_func_string", "original_string", "code",
                                                         "func_code_string", "text"};

// Collects the top-level values and the list `ids` of a JSON object while it is parsed. Other lists and nested
// objects are skipped: most of a CodeSearchNet row consists of lists of tokens, for which no values are built.
class RowHandler final : public nlohmann::json_sax<Json> {
public:
    explicit RowHandler(SourceRow& row) : row_(row) {}

    bool null() override {
        if (is_in_ids()) return refuse_id("null");
        return add_scalar("", false);
    }
    bool boolean(bool value) override {
        const char* const text = value ? "true" : "false";
        if (is_in_ids()) return refuse_id(text);
        return add_scalar(text, false);
    }
    bool number_integer(number_integer_t value) override {
        if (is_in_ids()) return refuse_id(std::to_string(value));
        return add_scalar(std::to_string(value), false);
    }
    bool number_unsigned(number_unsigned_t value) override {
        if (!is_in_ids()) return add_scalar(std::to_string(value), false);
        if (value > std::numeric_limits<std::uint32_t>::max()) return refuse_id(std::to_string(value));
        row_.token_ids.push_back(static_cast<std::uint32_t>(value));
        return true;
    }
    bool number_float(number_float_t, const string_t& text) override {
        if (is_in_ids()) return refuse_id(text);
        return add_scalar(text, false);
    }
    bool string(string_t& value) override {
        if (is_in_ids()) return refuse_id("a string");
        return add_scalar(std::move(value), true);
    }
    bool binary(binary_t&) override { return refuse("binary values are not JSON"); }
    bool start_object(std::size_t) override {
        if (is_in_ids()) return refuse_id("an object");
        ++depth_;
        return true;
    }
    bool key(string_t& name) override {
        if (depth_ != 1) return true;
        if (name == "ids" && std::exchange(has_ids_field_, true)) return refuse("the row has `ids` twice");
        key_ = std::move(name);
        return true;
    }
    bool end_object() override { return leave_level(); }
    bool start_array(std::size_t) override {
        if (depth_ == 0) return refuse("the row is a list, not an object {...}");
        if (is_in_ids()) return refuse_id("a list");
        if (depth_ == 1 && key_ == "ids") {
            row_.has_ids = true;
            is_in_id_list_ = true;
        }
        ++depth_;
        return true;
    }
    bool end_array() override {
        is_in_id_list_ = false;
        return leave_level();
    }
    bool parse_error(std::size_t position, const std::string&,
                     const nlohmann::detail::exception& error) override {
        const std::string_view text = error.what();
        // For example, the text is "[json.exception.parse_error.101] parse error at line 1, column 5: syntax
        // error ...". The line number is useless, since the parser sees a single line.
        const std::size_t mark = text.find(": ");
        const std::string_view reason = mark == std::string_view::npos ? text : text.substr(mark + 2);
        return refuse(cat("broken JSON at byte ", position, ": ", reason));
    }

private:
    bool is_in_ids() const { return is_in_id_list_; }

    bool leave_level() {
        --depth_;
        return true;
    }

    // Sets the fault of the row. Returns false, the value with which an event handler ends the parsing.
    bool refuse(std::string fault) {
        row_.fault = std::move(fault);
        return false;
    }

    bool refuse_id(const std::string& found) {
        return refuse(cat("`ids` holds ", found, " at position ", row_.token_ids.size(),
                          "; ids are numbers from 0 to ", std::numeric_limits<std::uint32_t>::max()));
    }

    bool add_scalar(std::string value, bool is_text) {
        if (depth_ == 0) return refuse("the row is a single value, not an object {...}");
        if (depth_ == 1) row_.fields.push_back({std::move(key_), std::move(value), is_text});
        return true;
    }

    SourceRow& row_;
    std::string key_;
    int depth_ = 0;
    bool has_ids_field_ = false;  // true if the row has a field `ids` of any type
    bool is_in_id_list_ = false;
};

int find_text_field(const SourceRow& row) {
    for (const std::string_view name : text_fields) {
        const auto field =
            std::find_if(row.fields.begin(), row.fields.end(),
                         [name](const SourceRow::Field& f) { return f.is_text && f.name == name; });
        if (field != row.fields.end()) return static_cast<int>(field - row.fields.begin());
    }
    return -1;
}

std::string describe_missing_text(const SourceRow& row) {
    std::string fault = "the row has no text in any of the fields ";
    for (const std::string_view name : text_fields) fault += cat(name, ", ");
    fault += "and no list `ids`; ";
    std::string names;
    for (const SourceRow::Field& field : row.fields) names += cat(names.empty() ? "" : ", ", field.name);
    return fault + (names.empty() ? "it has no fields" : "its fields are " + names);
}

}  // namespace

void parse_json_row(std::string_view line, SourceRow& row) {
    row = SourceRow{};
    RowHandler handler(row);
    if (!Json::sax_parse(line.begin(), line.end(), &handler)) {
        if (row.fault.empty()) row.fault = "broken JSON";
        return;
    }
    if (row.has_ids) return;
    row.text_field = find_text_field(row);
    if (row.text_field < 0) row.fault = describe_missing_text(row);
}

}  // namespace trireme::data
