#include "archive/partial_path.hpp"

#include <algorithm>

#include "trireme/archive/random_digits.hpp"
#include "trireme/base/error.hpp"

namespace trireme {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view mark = ".partial-";

// Where the mark begins; npos in a name that is whole.
std::size_t mark_in(std::string_view name) {
    const std::size_t begin = name.rfind(mark);
    if (!name.starts_with('.') || begin == std::string_view::npos) return std::string_view::npos;
    const std::string_view digits = name.substr(begin + mark.size());
    const bool fits = digits.size() == random_name_length &&
                      digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    return fits ? begin : std::string_view::npos;
}

}  // namespace

fs::path partial_path_beside(const fs::path& path) { return partial_path_beside(path, random_digits()); }

fs::path partial_path_beside(const fs::path& path, std::string_view digits) {
    return path.parent_path() / cat('.', path.filename().string(), mark, digits);
}

fs::path partial_path_inside(const fs::path& folder) { return folder / cat(mark, random_digits()); }

bool is_partial(std::string_view name) { return mark_in(name) != std::string_view::npos; }

fs::path whole_path(const fs::path& path) {
    fs::path whole;
    for (const fs::path& part : path) {
        const std::string name = part.string();
        const std::size_t begin = mark_in(name);
        if (begin == std::string::npos) {
            whole /= part;
        } else if (begin > 0) {
            whole /= name.substr(1, begin - 1);
        }
    }
    return whole;
}

}  // namespace trireme
