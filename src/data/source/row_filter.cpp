#include "trireme/data/row_filter.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::data {
namespace {

constexpr std::size_t max_examples = 3;

std::string join_words(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += cat(text.empty() ? "" : ", ", word);
    return text;
}

}  // namespace

RowFilter::RowFilter(const std::string& where) : where_(where) {
    std::size_t begin = 0;
    while (begin < where.size()) {
        const std::size_t end = std::min(where.find('&', begin), where.size());
        const std::string condition_text = where.substr(begin, end - begin);
        const std::size_t operator_position = condition_text.find_first_of("~=");
        if (operator_position == std::string::npos || operator_position == 0)
            throw ConfigError(
                cat("--where '", where, "': '", condition_text,
                    "' is not a condition; write field~text (contains) or field=text (is), joined by &"));
        Condition condition;
        condition.field = condition_text.substr(0, operator_position);
        condition.text = condition_text.substr(operator_position + 1);
        condition.is_exact = condition_text[operator_position] == '=';
        conditions_.push_back(std::move(condition));
        begin = end + 1;
    }
}

bool RowFilter::select(const SourceRow& row) {
    if (seen_rows_++ == 0)
        for (const SourceRow::Field& field : row.fields) first_row_fields_.push_back(field.name);
    bool is_selected = true;
    for (Condition& condition : conditions_) is_selected = holds(condition, row) && is_selected;
    selected_rows_ += is_selected ? 1 : 0;
    return is_selected;
}

bool RowFilter::holds(Condition& condition, const SourceRow& row) const {
    const SourceRow::Field* field = row.find(condition.field);
    if (field == nullptr) return false;
    condition.is_field_known = true;
    auto& examples = condition.examples;
    if (examples.size() < max_examples &&
        std::find(examples.begin(), examples.end(), field->value) == examples.end())
        examples.push_back(field->value);
    return condition.is_exact ? field->value == condition.text
                              : field->value.find(condition.text) != std::string::npos;
}

void RowFilter::check_selection() const {
    for (const Condition& condition : conditions_)
        if (seen_rows_ > 0 && !condition.is_field_known)
            throw ConfigError(cat("--where '", where_, "': no row has the field '", condition.field, "'; ",
                                  first_row_fields_.empty()
                                      ? "the first row has no fields"
                                      : "the fields of the first row are " + join_words(first_row_fields_)));
    if (conditions_.empty() || seen_rows_ == 0 || selected_rows_ > 0) return;
    std::string message = cat("0 of ", format_count(seen_rows_, "row"), " match --where '", where_, "';");
    for (const Condition& condition : conditions_) {
        std::vector<std::string> quoted_examples;
        for (const std::string& value : condition.examples)
            quoted_examples.push_back(cat("'", value.size() > 60 ? value.substr(0, 60) + "..." : value, "'"));
        message +=
            cat(" the first distinct values of ", condition.field, " are ", join_words(quoted_examples), ";");
    }
    throw ConfigError(message + " change the condition or the input");
}

}  // namespace trireme::data
