// Helpers for writing files: names of partial files, errors of refused writes, and syncing.
#pragma once

#include <filesystem>
#include <string_view>

#include "trireme/base/error.hpp"

namespace trireme::archive {

// Returns `.NAME.partial-XXXXXXXX` beside `path`. The digits are random on every call because processes of
// several machines may write to one disk.
std::filesystem::path partial_path_beside(const std::filesystem::path& path);
// Returns the path with the given digits.
std::filesystem::path partial_path_beside(const std::filesystem::path& path, std::string_view digits);
// Returns `.partial-XXXXXXXX` in `folder`.
std::filesystem::path partial_path_inside(const std::filesystem::path& folder);

// True if `name` is the last component of such a path.
bool is_partial(std::string_view name);

// Returns the final path of `path`, for messages.
std::filesystem::path whole_path(const std::filesystem::path& path);

// Throws the error for the system's error number `code` of a write to `path`: ResourceError if the machine
// refuses (no space, a limit, a broken disk), ConfigError if the user named a path that cannot be written.
[[noreturn]] void refuse_to_write(const std::filesystem::path& path, int code, Where where = Where::here());

// Waits until the file's contents or the folder's entries are on disk. Throws like refuse_to_write().
void sync_to_disk(const std::filesystem::path& path);

}  // namespace trireme::archive
