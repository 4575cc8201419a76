// Writing files: where they are while they are not whole, what a refused write means, and syncing.
#pragma once

#include <filesystem>
#include <string_view>

#include "trireme/base/error.hpp"

namespace trireme::archive {

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

// Throws what the system's error number `code` means of a write to `path`: ResourceError where the machine
// refuses (no space, a limit, a broken disk), ConfigError where the user named a place that cannot be written.
[[noreturn]] void refuse_to_write(const std::filesystem::path& path, int code, Where where = Where::here());

// All that was written to the file, or the folder's names, are on the disk. Throws as refuse_to_write() does.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace trireme::archive
