// What a refused write means, and syncing, the last of them.
#pragma once

#include <filesystem>

#include "trireme/base/error.hpp"

namespace trireme {

// Throws what the system's error number `code` means of a write to `path`: ResourceError where the machine
// refuses (no space, a limit, a broken disk), ConfigError where the user named a place that cannot be written.
[[noreturn]] void refuse_to_write(const std::filesystem::path& path, int code, Where where = Where::here());

// All that was written to the file, or the folder's names, are on the disk. Throws as refuse_to_write() does.
void sync_to_disk(const std::filesystem::path& path);

}  // namespace trireme
