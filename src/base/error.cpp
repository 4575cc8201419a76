#include "trireme/base/error.hpp"

namespace trireme {

Error::Error(ExitCode code, const std::string& what, Where where)
    : std::runtime_error(what), code_(code), where_(where) {}

ConfigError::ConfigError(const std::string& what, Where where) : Error(ExitCode::config, what, where) {}
ResourceError::ResourceError(const std::string& what, Where where) : Error(ExitCode::resource, what, where) {}
BugError::BugError(const std::string& what, Where where) : Error(ExitCode::bug, what, where) {}

}  // namespace trireme
