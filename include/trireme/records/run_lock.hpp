// One job at a time in a run directory.
#pragma once

#include <filesystem>
#include <string>

#include "trireme/base/job.hpp"

namespace trireme::records {

// "Slurm's job 4711, process 77 on node-1, since 2026-01-31T14:25:01Z"
std::string words_of_holder(const SlurmJob& job);

// Throws the ConfigError of a file of the run that is a symbolic link: it could lead to a file that is not the
// run's own.
[[noreturn]] void refuse_link(const std::filesystem::path& path);

// Holds a file for this process alone, until it is destroyed or the process ends, however that happens: the
// system lets go of it, so nothing is left of a job that was killed. On a file system without locks the run
// goes on without one; there, the check for earlier steps has to do.
class RunLock {
public:
    // Makes the file if need be, and writes into it who holds it. Throws ConfigError if it cannot be written or
    // is a symbolic link, or with the words of the process that holds it.
    RunLock(const std::filesystem::path& path, const std::string& holder);
    ~RunLock();
    RunLock(const RunLock&) = delete;
    RunLock& operator=(const RunLock&) = delete;

    // Why there is no lock; empty if this process holds it.
    const std::string& complaint() const { return complaint_; }

private:
    int descriptor_ = -1;
    std::string complaint_;
};

}  // namespace trireme::records
