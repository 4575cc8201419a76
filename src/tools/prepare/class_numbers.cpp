#include "tools/prepare/class_numbers.hpp"

#include <charconv>

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

constexpr std::uint32_t most_classes = 65'536;  // a class costs a row of the model's head

bool is_name(const SourceRow::Field& field) {
    return field.is_text || field.value == "true" || field.value == "false";
}

}  // namespace

std::string ClassNumbers::take(const SourceRow& row, std::uint32_t& label) {
    const SourceRow::Field* field = row.find(field_);
    if (field == nullptr) {
        const char* why = row.fields.empty() ? ": it has no fields at all" : "";
        return cat("the row has no number, text or truth value '", field_, "' to be its class", why);
    }
    if (field->value.empty()) return cat("its class, '", field_, "', is empty");
    return is_name(*field) ? take_name(field->value, label) : take_number(field->value, label);
}

std::string ClassNumbers::take_number(const std::string& value, std::uint32_t& label) {
    if (!names_.empty())
        return cat("its class, '", field_, "', is the number ", value, ", but those before were texts, as '",
                   names_.front(), "'");
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), label);
    if (error != std::errc() || end != value.data() + value.size() || label >= most_classes)
        return cat("its class, '", field_, "', is ", value, "; classes are whole numbers from 0 to ",
                   most_classes - 1, ", or texts");
    has_numbers_ = true;
    return {};
}

std::string ClassNumbers::take_name(const std::string& value, std::uint32_t& label) {
    if (has_numbers_)
        return cat("its class, '", field_, "', is the text '", value, "', but those before were numbers");
    const auto [known, is_new] = number_of_.try_emplace(value, static_cast<std::uint32_t>(names_.size()));
    if (is_new && names_.size() == most_classes) {
        number_of_.erase(known);
        return cat("its class, '", value, "', is one more than the ", most_classes, " that are kept");
    }
    if (is_new) names_.push_back(value);
    label = known->second;
    return {};
}

}  // namespace trireme
