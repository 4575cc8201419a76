// Error classes and exit codes. The message of an error says what went wrong, which numbers are involved, and
// what the user should do next.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace trireme {

// Appends one argument of cat() to `text`. Numbers are printed as by std::ostream: a double with 6 significant
// digits.
void append(std::string& text, std::string_view part);
void append(std::string& text, char part);
void append(std::string& text, long long part);
void append(std::string& text, unsigned long long part);
void append(std::string& text, double part);

template <std::integral Number>
void append(std::string& text, Number part) {
    if constexpr (std::is_signed_v<Number>) {
        append(text, static_cast<long long>(part));
    } else {
        append(text, static_cast<unsigned long long>(part));
    }
}

// Joins its arguments into one string. For example, cat("stage ", 3, " of ", 8) returns "stage 3 of 8".
template <class... Parts>
std::string cat(const Parts&... parts) {
    std::string text;
    (append(text, parts), ...);
    return text;
}

// A position in the source code. As a default argument, SourcePosition::here() is the position of the caller.
struct SourcePosition {
    const char* file;
    int line;
    static constexpr SourcePosition here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

// Exit codes of a process. `config`, `resource` and `bug` belong to the error classes below. `stopped` belongs
// to a run that a signal or a time limit ended early. Scripts depend on these numbers.
enum class ExitCode : int { done = 0, config = 2, resource = 3, bug = 70, stopped = 75 };

// Base of all errors of the program. Stores the position in the source code at which the error was constructed.
class Error : public std::runtime_error {
public:
    Error(ExitCode code, const std::string& what, SourcePosition where);

    ExitCode code() const noexcept { return code_; }
    SourcePosition where() const noexcept { return where_; }

private:
    ExitCode code_;
    SourcePosition where_;
};

// An error that the user can fix, for example in an option or an input file.
struct ConfigError : Error {
    explicit ConfigError(const std::string& what, SourcePosition where = SourcePosition::here());
};
// An error of the machine or its libraries, for example of MPI, CUDA, HDF5 or memory.
struct ResourceError : Error {
    explicit ResourceError(const std::string& what, SourcePosition where = SourcePosition::here());
};
// A broken invariant of the program.
struct BugError : Error {
    explicit BugError(const std::string& what, SourcePosition where = SourcePosition::here());
};

}  // namespace trireme
