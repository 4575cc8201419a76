// A lock file that keeps a second job out of a run directory.
#pragma once

#include <filesystem>
#include <string>

#include "trireme/base/job.hpp"

namespace trireme::records {

// Describes this process for the lock file, for example "Slurm's job 4711, process 77 on node-1, since
// 2026-01-31T14:25:01Z".
std::string describe_holder(const SlurmJob& job);

// Throws ConfigError, because `path` is a symbolic link. The link could lead to a file of another owner.
[[noreturn]] void refuse_link(const std::filesystem::path& path);

// Holds an exclusive lock on a file until the object is destroyed or the process ends. The system releases the
// lock of a killed process, so no stale lock remains. On a file system without locks the run continues without
// a lock. Without a lock, only check_unused() of run_directory.hpp keeps a second run out of the directory.
class RunLock {
public:
    // Makes the file if needed and writes `holder` into it, see describe_holder(). Throws ConfigError if the
    // file cannot be written, is a symbolic link, or is locked by another process. If the file is locked, the
    // message contains the text that the process with the lock has written.
    RunLock(const std::filesystem::path& path, const std::string& holder);
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

    // Says why the file system has refused a lock; empty if this process holds the lock.
    const std::string& complaint() const { return complaint_; }

private:
    int descriptor_ = -1;
    std::string complaint_;
};

}  // namespace trireme::records
