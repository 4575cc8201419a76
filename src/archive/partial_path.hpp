// Where files and folders are while they are not whole.
#pragma once

#include <filesystem>
#include <string_view>

namespace trireme {

// `.NAME.partial-XXXXXXXX` beside `path`; another one on every call, as processes of several machines may write
// to one disk.
std::filesystem::path partial_path_beside(const std::filesystem::path& path);
// The one with these digits.
std::filesystem::path partial_path_beside(const std::filesystem::path& path, std::string_view digits);
// `.partial-XXXXXXXX` in `folder`.
std::filesystem::path partial_path_inside(const std::filesystem::path& folder);

// Whether it is the last part of such a path.
bool is_partial(std::string_view name);

// The path that `path` has once all is whole: what a message speaks of.
std::filesystem::path whole_path(const std::filesystem::path& path);

}  // namespace trireme
