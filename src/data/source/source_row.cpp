#include "trireme/data/source_row.hpp"

#include <algorithm>
#include <array>

namespace trireme::data {
namespace {

// Names of fields in the original data set and in its copy on the Hugging Face hub.
constexpr std::array<std::array<std::string_view, 2>, 3> same_fields = {
    {{"repo", "repository_name"}, {"path", "func_path_in_repository"}, {"url", "func_code_url"}}};

std::string_view other_name(std::string_view field) {
    for (const auto& pair : same_fields) {
        if (field == pair[0]) return pair[1];
        if (field == pair[1]) return pair[0];
    }
    return field;
}

}  // namespace

const SourceRow::Field* SourceRow::find(std::string_view name) const {
    const auto named = [this](std::string_view wanted) {
        return std::find_if(fields.begin(), fields.end(),
                            [wanted](const Field& field) { return field.name == wanted; });
    };
    auto field = named(name);
    if (field == fields.end()) field = named(other_name(name));
    return field == fields.end() ? nullptr : &*field;
}

}  // namespace trireme::data
