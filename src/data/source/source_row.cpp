#include "trireme/data/source_row.hpp"

#include <algorithm>
#include <array>

namespace trireme::data {
namespace {

// Each entry has the two names of one field: in the original data set CodeSearchNet, and in the copy of the
// data set on the Hugging Face hub.
constexpr std::array<std::array<std::string_view, 2>, 3> field_synonyms = {
    {{"repo", "repository_name"}, {"path", "func_path_in_repository"}, {"url", "func_code_url"}}};

std::string_view find_synonym(std::string_view field) {
    for (const auto& pair : field_synonyms) {
        if (field == pair[0]) return pair[1];
        if (field == pair[1]) return pair[0];
    }
    return field;
}

}  // namespace

const SourceRow::Field* SourceRow::find(std::string_view name) const {
    const auto find_field = [this](std::string_view field_name) {
        return std::find_if(fields.begin(), fields.end(),
                            [field_name](const Field& field) { return field.name == field_name; });
    };
    auto field = find_field(name);
    if (field == fields.end()) field = find_field(find_synonym(name));
    return field == fields.end() ? nullptr : &*field;
}

}  // namespace trireme::data
