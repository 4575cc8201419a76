#include "trireme/records/run_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "trireme/base/error.hpp"
#include "trireme/records/run_directory.hpp"

namespace trireme::records {
namespace {

std::string read_host_name() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "an unknown host";
}

std::string read_text(int descriptor) {
    std::array<char, 512> text{};
    const auto length = ::pread(descriptor, text.data(), text.size(), 0);
    return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

void replace_text(int descriptor, const std::string& text) {
    const auto size = static_cast<ssize_t>(text.size());
    // Errors are ignored, because the lock also works if its description cannot be written.
    if (::ftruncate(descriptor, 0) != 0 || ::pwrite(descriptor, text.data(), text.size(), 0) != size) return;
}

}  // namespace

std::string describe_holder(const SlurmJob& job) {
    return cat(job.id.empty() ? "" : cat("Slurm's job ", job.id, ", "), "process ", ::getpid(), " on ",
               read_host_name(), ", since ", format_now());
}

void refuse_link(const std::filesystem::path& path) {
    throw ConfigError(
        cat(path.string(),
            " is a symbolic link, but a run does not write through links; remove it, or choose another "
            "--run-dir"));
}

RunLock::RunLock(const std::filesystem::path& path, const std::string& holder)
    : descriptor_(::open(path.c_str(), O_CREAT | O_RDWR | O_NOFOLLOW | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0 && errno == ELOOP) refuse_link(path);
    if (descriptor_ < 0) {
        throw ConfigError(
            cat(path.string(), " cannot be written: ", std::strerror(errno), "; choose another --run-dir"));
    }
    const int lock_error = ::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (lock_error == EWOULDBLOCK) {
        const std::string holder_of_lock = read_text(descriptor_);
        ::close(descriptor_);
        throw ConfigError(cat("the run directory ", path.parent_path().string(), " is in use by ",
                              holder_of_lock.empty() ? "another job" : holder_of_lock,
                              "; wait until it has ended, or choose another --run-dir"));
    }
    if (lock_error != 0)
        complaint_ = cat(path.string(), " cannot be locked (", std::strerror(lock_error),
                         "), so a second job in this run directory would not be refused");
    replace_text(descriptor_, holder);
}

RunLock::~RunLock() { ::close(descriptor_); }

}  // namespace trireme::records
