#include "trireme/archive/listing.hpp"

#include <algorithm>
#include <cerrno>
#include <random>

#include "archive/file_writing.hpp"
#include "trireme/base/error.hpp"

namespace trireme::archive {
namespace fs = std::filesystem;

std::vector<std::string> list_names(const fs::path& folder) {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
         at.increment(error))
        names.push_back(at->path().filename().string());
    if (error)
        throw ConfigError(cat(folder.string(), " cannot be listed: ", error.message(),
                              "; check its name and its permissions"));
    std::sort(names.begin(), names.end());
    return names;
}

void require_empty_folder(const fs::path& folder) {
    std::error_code error;
    const fs::file_status status = fs::status(folder, error);
    if (status.type() == fs::file_type::none) throw_write_error(folder, error.value());
    if (!fs::is_directory(status)) {
        // fs::status() follows symbolic links, so that a link without target seems not to exist. No folder can
        // be created under the name of the link.
        if (fs::exists(fs::symlink_status(folder, error))) throw_write_error(folder, ENOTDIR);
        return;
    }
    const std::vector<std::string> names = list_names(folder);
    if (names.empty()) return;
    throw ConfigError(
        cat("the output folder ", folder.string(), " already holds ", names.front(),
            is_partial(names.front()) ? ", the partial output of a running or interrupted command" : "",
            "; empty that folder or name another folder"));
}

std::string make_random_digits(int count) {
    std::random_device random;
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < count; ++i) text += digits[random() % 16];
    return text;
}

}  // namespace trireme::archive
