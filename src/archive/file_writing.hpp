// Helpers for writing files: names of partial files, errors of refused writes, and syncing.
#pragma once

#include <filesystem>
#include <string_view>

#include "trireme/base/error.hpp"

namespace trireme::archive {

// Returns `.NAME.partial-XXXXXXXX` beside `path`, where NAME is the file name of `path`. The digits are random
// on every call because processes of several machines may write to one disk.
std::filesystem::path make_partial_path(const std::filesystem::path& path);
// Returns `.NAME.partial-DIGITS` beside `path`, with the given digits.
std::filesystem::path make_partial_path(const std::filesystem::path& path, std::string_view digits);
// Returns `.partial-XXXXXXXX` in `folder`.
std::filesystem::path make_partial_path_inside(const std::filesystem::path& folder);

// Returns true if `name` is the last component of a path of make_partial_path() or make_partial_path_inside().
bool is_partial(std::string_view name);

// Returns the form of `path` for messages: each component `.NAME.partial-XXXXXXXX` becomes NAME, and each
// component `.partial-XXXXXXXX` is removed.
std::filesystem::path find_final_path(const std::filesystem::path& path);

// Throws the error for a write to `path` that failed with `code`, a value of errno: ResourceError if the
// machine refuses (no space, a limit, a broken disk), ConfigError if the user named a path that cannot be
// written.
[[noreturn]] void throw_write_error(const std::filesystem::path& path, int code,
                                    SourcePosition where = SourcePosition::here());

// Waits until the file's contents or the folder's entries are on disk. Throws like throw_write_error().
void sync_to_disk(const std::filesystem::path& path);

}  // namespace trireme::archive
