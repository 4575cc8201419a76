#include "app/command.hpp"

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/commands.hpp"
#include "app/config_file.hpp"
#include "app/options/option.hpp"
#include "app/options/options.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/run/train.hpp"
#include "trireme/setup/batch_advice.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::app {
namespace {

struct SplitLine {
    std::vector<Setting> settings;        // in the order given
    std::vector<std::string> positional;  // words that belong to no option
};

namespace po = boost::program_options;

// Boost reads all values as text, because the options check them and give better messages.
po::options_description descriptions(const std::vector<OptionGroup>& groups) {
    po::options_description all;
    for (const OptionGroup& group : groups) {
        for (const Option& option : group.options) {
            all.add_options()(option.words.name.c_str(), po::value<std::string>());
        }
    }
    return all;
}

[[noreturn]] void refuse_unknown(const std::string& command, const std::string& word,
                                 const std::vector<OptionGroup>& groups) {
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    const std::string name = word.substr(dashes, word.find('=') - dashes);
    const std::string meant = did_you_mean(name, names(groups), "--");
    const std::string next = meant.empty() ? cat("; trireme ", command, " --help lists all") : meant;
    throw ConfigError(cat("unknown option ", printable(word.substr(0, word.find('='))), next));
}

[[noreturn]] void refuse_missing_value(const std::string& command, const std::string& option) {
    throw ConfigError(cat(option, " needs a value; see trireme ", command, " --help"));
}

// Appends "=on" to switches. Otherwise Boost would take the next word as the value: --skip-bad rows.jsonl.
std::vector<std::string> with_switches_on(std::span<const char* const> arguments,
                                          const std::vector<OptionGroup>& groups) {
    std::vector<std::string> words(arguments.begin(), arguments.end());
    for (std::string& word : words) {
        const Option* option = word.rfind("--", 0) == 0 ? find(groups, word.substr(2)) : nullptr;
        if (option != nullptr && option->is_switch) word += "=on";
    }
    return words;
}

std::vector<po::option> parsed(const std::string& command, std::span<const char* const> arguments,
                               const std::vector<OptionGroup>& groups) {
    using namespace po::command_line_style;
    const po::options_description known = descriptions(groups);
    try {
        return po::command_line_parser(with_switches_on(arguments, groups))
            .options(known)
            .style(allow_long | long_allow_adjacent | long_allow_next)
            .allow_unregistered()
            .run()
            .options;
    } catch (const po::invalid_command_line_syntax& error) {  // "--batch=", or "--batch" as the last word
        refuse_missing_value(command, error.get_option_name());
    }
}

Setting setting_of(const std::string& command, const po::option& option) {
    const std::string& value = option.value.front();
    const bool is_next_option = option.original_tokens.size() > 1 && value.rfind("--", 0) == 0;
    if (is_next_option) refuse_missing_value(command, cat("--", option.string_key));
    return {option.string_key, value, ""};
}

void refuse_repetition(const std::vector<Setting>& earlier, const Setting& setting) {
    const auto same = [&](const Setting& other) { return other.name == setting.name; };
    const auto first = std::find_if(earlier.begin(), earlier.end(), same);
    if (first == earlier.end()) return;
    throw ConfigError(cat("--", setting.name, " is given twice (", in_quotes(first->value), " and ",
                          in_quotes(setting.value), "); keep one"));
}

// Splits `arguments`, which follow the command's name, into options and other words. Throws ConfigError for an
// unknown option (and names the nearest known one), an option without its value, and an option that is given
// twice but is not repeatable.
SplitLine split_line(const std::string& command, std::span<const char* const> arguments,
                     const std::vector<OptionGroup>& groups) {
    SplitLine line;
    for (const po::option& option : parsed(command, arguments, groups)) {
        const std::string& word = option.original_tokens.front();
        const bool has_dash = word.size() > 1 && word.front() == '-';
        if (option.unregistered || (option.position_key != -1 && has_dash)) {
            refuse_unknown(command, word, groups);
        }
        if (option.position_key != -1) {
            line.positional.push_back(option.value.front());
            continue;
        }
        Setting setting = setting_of(command, option);
        if (!find(groups, setting.name)->add) refuse_repetition(line.settings, setting);
        line.settings.push_back(std::move(setting));
    }
    return line;
}

using Words = std::span<const char* const>;

constexpr const char* config_title = "Options of `trireme train`, for --config";

bool is_help(std::string_view word) { return word == "--help" || word == "-h"; }
bool asks_for_help(Words words) { return std::any_of(words.begin(), words.end(), is_help); }
bool asks_for_all(Words words) {
    return std::any_of(words.begin(), words.end(), [](std::string_view word) { return word == "--all"; });
}

void refuse_unknown_command(const std::string& name) {
    const std::vector<std::string> known = command_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const std::string meant = did_you_mean(name, known);
    throw ConfigError(cat("unknown command ", in_quotes(name), meant.empty() ? "; see trireme --help" : meant));
}

// Applies the settings of one source (a file or the command line), which override those of earlier sources.
void set_all(const std::vector<Setting>& settings, const std::vector<OptionGroup>& groups) {
    std::set<std::string> given;
    for (const Setting& setting : settings) {
        const Option* option = find(groups, setting.name);
        if (option == nullptr) continue;
        const bool is_first = given.insert(setting.name).second;
        (is_first ? option->set : option->add)(setting);
    }
}

// Applies the config files in the order given, then the command line; later sources override earlier ones.
// Returns the settings of each source in this order.
std::vector<std::vector<Setting>> stack(const SplitLine& line, const std::vector<OptionGroup>& groups) {
    std::vector<std::vector<Setting>> places;
    for (const Setting& setting : line.settings) {
        if (setting.name == "config") places.push_back(read_config_file(setting.value, groups));
    }
    places.push_back(line.settings);
    for (const std::vector<Setting>& place : places) set_all(place, groups);
    return places;
}

// Throws ConfigError if --init has no effect. It has one with
// `--resume auto`, because the first start uses --init.
void refuse_init_beside_resume(const SplitLine& line, const config::RunConfig& config) {
    const bool has_init = std::ranges::find(line.settings, "init", &Setting::name) != line.settings.end();
    if (!has_init || config.model.init == "random" || config.run.resume == "auto") return;
    throw ConfigError(cat("--init ", config.model.init, " has no effect, because --resume ", config.run.resume,
                          " brings the weights; omit one of them"));
}

// Does what stack() does. If a checkpoint is resumed, its
// saved options come first, and all sources override them.
void stack_resumed(const SplitLine& line, const std::vector<OptionGroup>& groups, config::RunConfig& config) {
    const std::vector<std::vector<Setting>> places = stack(line, groups);
    const std::optional<config::SavedOptions> saved = run::saved_options(config.run);
    if (!saved) return;
    refuse_init_beside_resume(line, config);
    config::ResumedOptions resumed{.saved = *saved, .given = {}, .changes = {}};
    for (const std::vector<Setting>& place : places)
        for (const Setting& setting : place) resumed.given.insert(setting.name);
    set_all(settings_to_take(*saved, resumed.given, groups), groups);
    for (const std::vector<Setting>& place : places) set_all(place, groups);
    reset_without_effect(resumed.given, groups);
    resumed.changes = changes_since(*saved, groups);
    config.resumed = std::move(resumed);
}

void refuse_positional(const char* command, const SplitLine& line) {
    if (line.positional.empty()) return;
    throw ConfigError(cat(command, " takes options only, but ", in_quotes(line.positional.front()),
                          " belongs to none; see trireme ", command, " --help"));
}

Command train_command(Words words) {
    TrainCommand command;
    const std::vector<OptionGroup> options = train_options(command.config);
    std::string last_file;
    std::vector<OptionGroup> all = options;
    all.push_back(config_options(last_file, command.dump_config));
    const SplitLine line = split_line("train", words, all);
    refuse_positional("train", line);
    stack_resumed(line, options, command.config);
    set_all(line.settings, {all.back()});
    command.config.resolved = config_text(config_title, options);
    if (command.dump_config) return command;
    check_needs(options);
    check_train_options(command.config);
    return command;
}

// Config files may set the options of `train`, but not those that only `plan` has.
Command plan_command(Words words) {
    tools::PlanConfig config;
    const std::vector<OptionGroup> of_train = train_options(config.run);
    const OptionGroup of_plan = plan_options(config);
    std::string last_file;
    std::vector<OptionGroup> all = of_train;
    all.push_back(of_plan);
    all.push_back(config_file_option(last_file));
    const SplitLine line = split_line("plan", words, all);
    refuse_positional("plan", line);
    stack(line, of_train);
    set_all(line.settings, {of_plan});
    if (config.run.costs.network == config::NetworkKind::free)
        throw ConfigError(
            "--network free is for simulated runs, and a plan is counted in costs; give send=0 in --cost");
    check_needs(of_train);
    return config;
}

// Config files may set the options of `train` here, too. These
// are checked as for `train` and passed to the simulated ranks.
Command simulate_command(Words words) {
    tools::SimulateConfig config;
    config::RunConfig run;
    const std::vector<OptionGroup> of_train = train_options(run);
    const OptionGroup of_simulate = simulate_options(config);
    std::string last_file;
    std::vector<OptionGroup> all = of_train;
    all.push_back(of_simulate);
    all.push_back(config_file_option(last_file));
    const SplitLine line = split_line("simulate", words, all);
    refuse_positional("simulate", line);
    stack_resumed(line, of_train, run);
    set_all(line.settings, {of_simulate});
    config.cluster = run.costs.cluster;
    config.is_network_free = run.costs.network == config::NetworkKind::free;
    check_simulate_options(config);
    if (config.ranks > 0) setup::fit_resumed_layout(run, config.ranks);
    if (!config.does_math) run.precision.device = config::DeviceKind::ghost;
    check_needs(of_train);
    check_train_options(run);
    config.train_options = config_text(config_title, of_train);
    return config;
}

// Parses a command that has options of its own and positional words; `take` stores these in the configuration.
template <class Config>
Command tool_command(const char* name, Words words, std::vector<OptionGroup> (*options_of)(Config&),
                     void (*take)(Config&, const std::vector<std::string>&)) {
    Config config;
    const std::vector<OptionGroup> options = options_of(config);
    const SplitLine line = split_line(name, words, options);
    set_all(line.settings, options);
    check_needs(options);
    take(config, line.positional);
    return config;
}

// Parses a command that has options of its own and no positional words.
template <class Config>
Command command_of_options(const char* name, Words words, std::vector<OptionGroup> (*options_of)(Config&),
                           void (*check)(const Config&)) {
    Config config;
    const std::vector<OptionGroup> options = options_of(config);
    const SplitLine line = split_line(name, words, options);
    refuse_positional(name, line);
    set_all(line.settings, options);
    check_needs(options);
    check(config);
    return config;
}

// Parses `trireme help [COMMAND [GROUP|--all]]`, or a request for the reference in another format.
Command help_command(Words words) {
    if (words.empty()) return ShowText{general_help()};
    const std::string first = words.front();
    if (words.size() > 2)
        throw ConfigError(cat("help takes a command and a group of options, but ", in_quotes(words[2]),
                              " follows; see trireme help help"));
    if (words.size() == 1 && first == "--markdown") return ShowText{markdown_reference()};
    if (words.size() == 1 && first == "--man") return ShowText{man_page()};
    if (words.size() == 1 && first == "--completion") return ShowText{bash_completion()};
    refuse_unknown_command(first);
    return ShowText{command_help(first, words.size() == 2 ? words[1] : "")};
}

}  // namespace

bool needs_session(Words arguments) {
    if (arguments.empty() || asks_for_help(arguments)) return false;
    const std::string_view name = arguments.front();
    return name == "train" || name == "evaluate" || name == "profile" || name == "doctor";
}

void fit_to_ranks(config::RunConfig& config, int ranks) {
    setup::fit_resumed_layout(config, ranks);
    setup::fit_default_batch(config, ranks);
    const std::vector<OptionGroup> options = train_options(config);
    config.resolved = config_text(config_title, options);
    config.options = {values_to_save(options), ranks};
}

Command parse_command_line(Words arguments, const std::string& mpi) {
    if (arguments.empty()) throw ConfigError("no command is given; see trireme --help");
    const std::string name = arguments.front();
    const Words rest = arguments.subspan(1);
    if (is_help(name)) return ShowText{general_help()};
    if (name == "--version") return ShowText{version_text(mpi)};
    refuse_unknown_command(name);
    if (asks_for_help(rest)) return ShowText{command_help(name, asks_for_all(rest) ? "--all" : "")};
    if (name == "help") return help_command(rest);
    if (name == "train") return train_command(rest);
    if (name == "evaluate")
        return command_of_options("evaluate", rest, evaluate_options, check_evaluate_options);
    if (name == "plan") return plan_command(rest);
    if (name == "simulate") return simulate_command(rest);
    if (name == "profile") return command_of_options("profile", rest, profile_options, check_profile_options);
    if (name == "doctor") return command_of_options("doctor", rest, doctor_options, check_doctor_options);
    if (name == "prepare") return tool_command("prepare", rest, prepare_options, take_prepare_inputs);
    if (name == "convert") return tool_command("convert", rest, convert_options, take_convert_places);
    if (name == "report") return tool_command("report", rest, report_options, take_run_directory);
    return tool_command("inspect", rest, inspect_options, take_inspect_file);
}

}  // namespace trireme::app
