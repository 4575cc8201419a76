// Errors carry three things: what went wrong, the numbers involved, and what to do next.
#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

namespace trireme {

// Joins its arguments into one string: cat("stage ", 3, " of ", 8).
template <class... Parts>
std::string cat(const Parts&... parts) {
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

// A place in the source. As a default argument, Where::here() is the place of the caller.
struct Where {
    const char* file;
    int line;
    static constexpr Where here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

// What a process ends with; scripts depend on these numbers.
enum class ExitCode : int { done = 0, config = 2, resource = 3, bug = 70, stopped = 75 };

// Remembers where it was constructed, so that no macro is needed to report a file and a line.
class Error : public std::runtime_error {
public:
    Error(ExitCode code, const std::string& what, Where where);

    ExitCode code() const noexcept { return code_; }
    Where where() const noexcept { return where_; }

private:
    ExitCode code_;
    Where where_;
};

// The user can fix it: options, input files.
struct ConfigError : Error {
    explicit ConfigError(const std::string& what, Where where = Where::here());
};
// The machine refused: MPI, CUDA, HDF5, memory.
struct ResourceError : Error {
    explicit ResourceError(const std::string& what, Where where = Where::here());
};
// The program broke its own promise.
struct BugError : Error {
    explicit BugError(const std::string& what, Where where = Where::here());
};

}  // namespace trireme
