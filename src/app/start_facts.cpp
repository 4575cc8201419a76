#include "app/start_facts.hpp"

#include <utility>

#include "app/options/tool_options.hpp"
#include "app/options/train_options.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/version.hpp"

namespace trireme::app {
namespace {

struct NamedOptions {
    const char* command;
    std::vector<OptionGroup> groups;  // refer to the command that they were made from
};

NamedOptions options_of(TrainCommand& command) { return {"train", train_options(command.config)}; }
NamedOptions options_of(EvaluateConfig& config) { return {"evaluate", evaluate_options(config)}; }
NamedOptions options_of(ProfileCommand& command) { return {"profile", profile_options(command)}; }
NamedOptions options_of(DoctorConfig& config) { return {"doctor", doctor_options(config)}; }
template <class Other>
NamedOptions options_of(Other&) {
    throw BugError("a command that one process runs has no facts to compare");
}

bool may_differ(const std::string& option) { return option == "run-dir" || option == "threads"; }

}  // namespace

std::vector<Fact> start_facts(Command command) {
    const NamedOptions options = std::visit([](auto& wanted) { return options_of(wanted); }, command);
    std::vector<Fact> facts{{"the command", options.command}};
    if (!std::holds_alternative<DoctorConfig>(command)) facts.push_back({"the source version", version()});
    for (const OptionGroup& group : options.groups) {
        for (const Option& option : group.options) {
            if (may_differ(option.words.name)) continue;
            facts.push_back({cat("--", option.words.name), option.get()});
        }
    }
    if (const auto* train = std::get_if<TrainCommand>(&command))
        facts.push_back({"--dump-config", train->dump_config ? "on" : "off"});
    return facts;
}

double stall_seconds(const Command& command) {
    if (const auto* train = std::get_if<TrainCommand>(&command)) return train->config.run.stall_timeout;
    if (const auto* evaluate = std::get_if<EvaluateConfig>(&command)) return evaluate->run.run.stall_timeout;
    return RunOptions{}.stall_timeout;
}

}  // namespace trireme::app
