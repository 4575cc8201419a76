// Calls prepare() and captures its report and its output.
#pragma once

#include <sstream>
#include <string>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"
#include "trireme/tools/prepare.hpp"

namespace trireme::validation {

struct Outcome {
    tools::PrepareReport report;
    std::string said;
};

inline Outcome run(const tools::PrepareConfig& config) {
    std::ostringstream out;
    const tools::PrepareReport report = prepare(config, out);
    return {report, out.str()};
}

inline std::string refusal(const tools::PrepareConfig& config) {
    return catch_message<ConfigError>([&] { run(config); });
}

inline tools::PrepareConfig config_for(const ScratchFolder& folder, const std::string& name,
                                       const std::string& bytes) {
    tools::PrepareConfig config;
    config.inputs = {folder.write(name, bytes)};
    config.output = folder.file("c.h5");
    return config;
}

}  // namespace trireme::validation
