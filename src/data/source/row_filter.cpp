#include "trireme/data/row_filter.hpp"

#include <algorithm>

#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

constexpr std::size_t examples_shown = 3;

std::string listed(const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += cat(text.empty() ? "" : ", ", word);
    return text;
}

}  // namespace

RowFilter::RowFilter(const std::string& where) : where_(where) {
    std::size_t begin = 0;
    while (begin < where.size()) {
        const std::size_t end = std::min(where.find('&', begin), where.size());
        const std::string part = where.substr(begin, end - begin);
        const std::size_t sign = part.find_first_of("~=");
        if (sign == std::string::npos || sign == 0)
            throw ConfigError(
                cat("--where '", where, "': '", part,
                    "' is no condition; write field~text (contains) or field=text (is), joined by &"));
        Condition condition;
        condition.field = part.substr(0, sign);
        condition.text = part.substr(sign + 1);
        condition.whole = part[sign] == '=';
        conditions_.push_back(std::move(condition));
        begin = end + 1;
    }
}

bool RowFilter::keeps(const SourceRow& row) {
    if (seen_++ == 0)
        for (const SourceRow::Field& field : row.fields) known_fields_.push_back(field.name);
    bool kept = true;
    for (Condition& condition : conditions_) kept = holds(condition, row) && kept;
    kept_ += kept ? 1 : 0;
    return kept;
}

bool RowFilter::holds(Condition& condition, const SourceRow& row) const {
    const SourceRow::Field* field = row.find(condition.field);
    if (field == nullptr) return false;
    condition.found = true;
    auto& examples = condition.examples;
    if (examples.size() < examples_shown &&
        std::find(examples.begin(), examples.end(), field->value) == examples.end())
        examples.push_back(field->value);
    return condition.whole ? field->value == condition.text
                           : field->value.find(condition.text) != std::string::npos;
}

void RowFilter::check_selection() const {
    for (const Condition& condition : conditions_)
        if (seen_ > 0 && !condition.found)
            throw ConfigError(cat("--where '", where_, "': no row has the field '", condition.field, "'; ",
                                  known_fields_.empty() ? "the rows have no fields to choose by"
                                                        : "the first row has " + listed(known_fields_)));
    if (conditions_.empty() || seen_ == 0 || kept_ > 0) return;
    std::string message = cat("0 of ", seen_, " rows match --where '", where_, "';");
    for (const Condition& condition : conditions_) {
        std::vector<std::string> shown;
        for (const std::string& value : condition.examples)
            shown.push_back(cat("'", value.size() > 60 ? value.substr(0, 60) + "..." : value, "'"));
        message += cat(" ", condition.field, " is ", listed(shown), " in the first rows;");
    }
    throw ConfigError(message + " change the condition or the input");
}

}  // namespace trireme::data
