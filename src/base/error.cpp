#include "trireme/base/error.hpp"

#include <fmt/format.h>

#include <iterator>

namespace trireme {

void append(std::string& text, std::string_view part) { text += part; }
void append(std::string& text, char part) { text += part; }
void append(std::string& text, long long part) { fmt::format_to(std::back_inserter(text), "{}", part); }
void append(std::string& text, unsigned long long part) {
    fmt::format_to(std::back_inserter(text), "{}", part);
}
void append(std::string& text, double part) { fmt::format_to(std::back_inserter(text), "{:g}", part); }

Error::Error(ExitCode code, const std::string& what, SourcePosition where)
    : std::runtime_error(what), code_(code), where_(where) {}

ConfigError::ConfigError(const std::string& what, SourcePosition where)
    : Error(ExitCode::config, what, where) {}
ResourceError::ResourceError(const std::string& what, SourcePosition where)
    : Error(ExitCode::resource, what, where) {}
BugError::BugError(const std::string& what, SourcePosition where) : Error(ExitCode::bug, what, where) {}

}  // namespace trireme
