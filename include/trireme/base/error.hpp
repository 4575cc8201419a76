// Errors carry three things: what went wrong, the numbers involved, and what to do next.
#pragma once

#include <concepts>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace trireme {

// Appends one argument of cat(): text as it is, numbers as a stream would print them (6 significant digits).
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

// Joins its arguments into one string: cat("stage ", 3, " of ", 8).
template <class... Parts>
std::string cat(const Parts&... parts) {
    std::string text;
    (append(text, parts), ...);
    return text;
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
