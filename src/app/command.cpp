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

struct SplitCommandLine {
    std::vector<Setting> settings;        // in the order given
    std::vector<std::string> positional;  // words that are neither options nor values of options
};

namespace po = boost::program_options;

// Describes the options to Boost. All values are text for Boost, because the options themselves check values
// and have better messages.
po::options_description make_boost_descriptions(const std::vector<OptionGroup>& groups) {
    po::options_description all;
    for (const OptionGroup& group : groups) {
        for (const Option& option : group.options) {
            all.add_options()(option.description.name.c_str(), po::value<std::string>());
        }
    }
    return all;
}

[[noreturn]] void refuse_unknown(const std::string& command, const std::string& word,
                                 const std::vector<OptionGroup>& groups) {
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    const std::string name = word.substr(dashes, word.find('=') - dashes);
    const std::string suggestion = suggest_word(name, list_names(groups), "--");
    const std::string hint =
        suggestion.empty() ? cat("; trireme help ", command, " --all lists all options") : suggestion;
    throw ConfigError(cat("unknown option ", make_printable(word.substr(0, word.find('='))), hint));
}

[[noreturn]] void refuse_missing_value(const std::string& command, const std::string& option) {
    throw ConfigError(cat(option, " needs a value; see trireme help ", command, " --all"));
}

// Appends "=on" to switches without a value. Otherwise Boost would read the next word as the value, for
// example rows.jsonl in "--skip-bad rows.jsonl".
std::vector<std::string> append_switch_values(std::span<const char* const> arguments,
                                              const std::vector<OptionGroup>& groups) {
    std::vector<std::string> words(arguments.begin(), arguments.end());
    for (std::string& word : words) {
        const Option* option = word.rfind("--", 0) == 0 ? find_option(groups, word.substr(2)) : nullptr;
        if (option != nullptr && option->is_switch) word += "=on";
    }
    return words;
}

std::vector<po::option> parse_with_boost(const std::string& command, std::span<const char* const> arguments,
                                         const std::vector<OptionGroup>& groups) {
    using namespace po::command_line_style;
    const po::options_description known = make_boost_descriptions(groups);
    try {
        return po::command_line_parser(append_switch_values(arguments, groups))
            .options(known)
            .style(allow_long | long_allow_adjacent | long_allow_next)
            .allow_unregistered()
            .run()
            .options;
    } catch (const po::invalid_command_line_syntax& error) {  // "--batch=", or "--batch" as the last word
        refuse_missing_value(command, error.get_option_name());
    }
}

Setting make_setting(const std::string& command, const po::option& option) {
    const std::string& value = option.value.front();
    const bool is_next_option = option.original_tokens.size() > 1 && value.rfind("--", 0) == 0;
    if (is_next_option) refuse_missing_value(command, cat("--", option.string_key));
    return {option.string_key, value, ""};
}

void refuse_repetition(const std::vector<Setting>& earlier, const Setting& setting) {
    const auto has_same_name = [&](const Setting& other) { return other.name == setting.name; };
    const auto first = std::find_if(earlier.begin(), earlier.end(), has_same_name);
    if (first == earlier.end()) return;
    throw ConfigError(cat("--", setting.name, " is given twice (", quote_text(first->value), " and ",
                          quote_text(setting.value), "); keep one"));
}

// Splits `arguments`, which follow the command's name, into options and other words. Throws ConfigError for an
// unknown option (and names the nearest known one), an option without its value, and an option that is given
// twice but is not repeatable.
SplitCommandLine split_line(const std::string& command, std::span<const char* const> arguments,
                            const std::vector<OptionGroup>& groups) {
    SplitCommandLine line;
    for (const po::option& option : parse_with_boost(command, arguments, groups)) {
        const std::string& word = option.original_tokens.front();
        const bool has_dash = word.size() > 1 && word.front() == '-';  // "-x" is positional for Boost
        if (option.unregistered || (option.position_key != -1 && has_dash)) {
            refuse_unknown(command, word, groups);
        }
        if (option.position_key != -1) {
            line.positional.push_back(option.value.front());
            continue;
        }
        Setting setting = make_setting(command, option);
        if (!find_option(groups, setting.name)->add) refuse_repetition(line.settings, setting);
        line.settings.push_back(std::move(setting));
    }
    return line;
}

using Arguments = std::span<const char* const>;

constexpr const char* config_title = "Options of `trireme train`, for --config";

bool is_help_option(std::string_view word) { return word == "--help" || word == "-h"; }
bool has_help_option(Arguments arguments) {
    return std::any_of(arguments.begin(), arguments.end(), is_help_option);
}
bool has_all_option(Arguments arguments) {
    return std::any_of(arguments.begin(), arguments.end(),
                       [](std::string_view word) { return word == "--all"; });
}

// Throws ConfigError if the program has no command of this name.
void refuse_unknown_command(const std::string& name) {
    const std::vector<std::string> known = list_command_names();
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const std::string suggestion = suggest_word(name, known);
    throw ConfigError(
        cat("unknown command ", quote_text(name), suggestion.empty() ? "; see trireme --help" : suggestion));
}

// Applies the settings of one source (a config file or the command line), which override the settings of
// earlier sources.
void apply_settings(const std::vector<Setting>& settings, const std::vector<OptionGroup>& groups) {
    std::set<std::string> seen_options;
    for (const Setting& setting : settings) {
        const Option* option = find_option(groups, setting.name);
        if (option == nullptr) continue;
        const bool is_first = seen_options.insert(setting.name).second;
        (is_first ? option->set : option->add)(setting);  // only repeatable options occur again
    }
}

// Applies the config files in their order on the command line, and then the command line; later sources
// override earlier ones. Returns the settings of each source in this order.
std::vector<std::vector<Setting>> apply_all_sources(const SplitCommandLine& line,
                                                    const std::vector<OptionGroup>& groups) {
    std::vector<std::vector<Setting>> sources;
    for (const Setting& setting : line.settings) {
        if (setting.name == "config") sources.push_back(read_config_file(setting.value, groups));
    }
    sources.push_back(line.settings);
    for (const std::vector<Setting>& source : sources) apply_settings(source, groups);
    return sources;
}

// Throws ConfigError if --init has no effect because --resume is set. With `--resume auto`, --init has an
// effect, because the first start of the run uses it.
void refuse_init_beside_resume(const SplitCommandLine& line, const config::RunConfig& config) {
    const bool has_init = std::ranges::find(line.settings, "init", &Setting::name) != line.settings.end();
    if (!has_init || config.model.init == "random" || config.run.resume == "auto") return;
    throw ConfigError(cat("--init ", config.model.init, " has no effect, because --resume ", config.run.resume,
                          " loads the weights; drop one of them"));
}

// Applies all sources first, because they may set --resume, which names the checkpoint. If the run resumes a
// checkpoint, applies the options that the checkpoint saved. Then applies all sources again, because the
// sources override the saved options.
void apply_all_sources_and_checkpoint(const SplitCommandLine& line, const std::vector<OptionGroup>& groups,
                                      config::RunConfig& config) {
    const std::vector<std::vector<Setting>> sources = apply_all_sources(line, groups);
    const std::optional<config::SavedOptions> saved = run::read_saved_options(config.run);
    if (!saved) return;
    refuse_init_beside_resume(line, config);
    config::ResumedOptions resumed{.saved = *saved, .overridden_options = {}, .changes = {}};
    for (const std::vector<Setting>& source : sources)
        for (const Setting& setting : source) resumed.overridden_options.insert(setting.name);
    apply_settings(select_saved_settings(*saved, resumed.overridden_options, groups), groups);
    for (const std::vector<Setting>& source : sources) apply_settings(source, groups);
    reset_ineffective_options(resumed.overridden_options, groups);
    resumed.changes = describe_changes(*saved, groups);
    config.resumed_options = std::move(resumed);
}

void refuse_positional(const char* command, const SplitCommandLine& line) {
    if (line.positional.empty()) return;
    throw ConfigError(cat(command, " takes options only, but ", quote_text(line.positional.front()),
                          " is neither an option nor the value of one; see trireme ", command, " --help"));
}

Command parse_train_command(Arguments arguments) {
    TrainCommand command;
    const std::vector<OptionGroup> options = make_train_options(command.config);
    std::string last_file;  // not used: apply_all_sources() reads the files
    std::vector<OptionGroup> all = options;
    all.push_back(make_config_options(last_file, command.dump_config));
    const SplitCommandLine line = split_line("train", arguments, all);
    refuse_positional("train", line);
    apply_all_sources_and_checkpoint(line, options, command.config);
    apply_settings(line.settings, {all.back()});
    command.config.ini_text = format_config_file(config_title, options);
    if (command.dump_config) return command;
    check_needs(options);
    check_train_options(command.config);
    return command;
}

// Config files may set the options of `train`, but not those that only `plan` has.
Command parse_plan_command(Arguments arguments) {
    tools::PlanConfig config;
    const std::vector<OptionGroup> train_groups = make_train_options(config.run);
    const OptionGroup plan_group = make_plan_options(config);
    std::string last_file;  // not used: apply_all_sources() reads the files
    std::vector<OptionGroup> all = train_groups;
    all.push_back(plan_group);
    all.push_back(make_config_file_group(last_file));
    const SplitCommandLine line = split_line("plan", arguments, all);
    refuse_positional("plan", line);
    apply_all_sources(line, train_groups);
    apply_settings(line.settings, {plan_group});
    check_needs(train_groups);
    return config;
}

// Config files may set the options of `train`. The options of `train` pass the checks of the command `train`,
// and are passed to the simulated ranks.
Command parse_simulate_command(Arguments arguments) {
    tools::SimulateConfig config;
    config::RunConfig run;
    const std::vector<OptionGroup> train_groups = make_train_options(run);
    const OptionGroup simulate_group = make_simulate_options(config);
    std::string last_file;  // not used: apply_all_sources() reads the files
    std::vector<OptionGroup> all = train_groups;
    all.push_back(simulate_group);
    all.push_back(make_config_file_group(last_file));
    const SplitCommandLine line = split_line("simulate", arguments, all);
    refuse_positional("simulate", line);
    apply_all_sources_and_checkpoint(line, train_groups, run);
    apply_settings(line.settings, {simulate_group});
    config.cluster = run.costs.cluster;
    config.is_network_free = run.costs.network == config::NetworkKind::zero_time;
    check_simulate_options(config);
    if (config.ranks > 0) setup::fit_resumed_layout(run, config.ranks);
    if (!config.does_math) run.precision.device = config::DeviceKind::ghost;
    check_needs(train_groups);
    check_train_options(run);
    config.train_options = format_config_file(config_title, train_groups);
    return config;
}

// Parses a command with options of its own and positional words. `store_words` stores the words in the
// configuration.
template <class Config>
Command parse_tool_command(const char* name, Arguments arguments,
                           std::vector<OptionGroup> (*list_options)(Config&),
                           void (*store_words)(Config&, const std::vector<std::string>&)) {
    Config config;
    const std::vector<OptionGroup> options = list_options(config);
    const SplitCommandLine line = split_line(name, arguments, options);
    apply_settings(line.settings, options);
    check_needs(options);
    store_words(config, line.positional);
    return config;
}

// Parses a command with options of its own and without positional words.
template <class Config>
Command parse_command_without_words(const char* name, Arguments arguments,
                                    std::vector<OptionGroup> (*list_options)(Config&),
                                    void (*check)(const Config&)) {
    Config config;
    const std::vector<OptionGroup> options = list_options(config);
    const SplitCommandLine line = split_line(name, arguments, options);
    refuse_positional(name, line);
    apply_settings(line.settings, options);
    check_needs(options);
    check(config);
    return config;
}

// Parses `trireme help [COMMAND [GROUP|--all]]`, or a request for the reference in another format.
Command parse_help_command(Arguments arguments) {
    if (arguments.empty()) return ShowText{format_general_help()};
    const std::string first = arguments.front();
    if (arguments.size() > 2)
        throw ConfigError(cat("help takes one command and one group of options, but ", quote_text(arguments[2]),
                              " follows them; see trireme help help"));
    if (arguments.size() == 1 && first == "--markdown") return ShowText{format_markdown_reference()};
    if (arguments.size() == 1 && first == "--man") return ShowText{format_man_page()};
    if (arguments.size() == 1 && first == "--completion") return ShowText{format_bash_completion()};
    refuse_unknown_command(first);
    return ShowText{format_command_help(first, arguments.size() == 2 ? arguments[1] : "")};
}

}  // namespace

bool needs_session(Arguments arguments) {
    if (arguments.empty() || has_help_option(arguments)) return false;
    const std::string_view name = arguments.front();
    return name == "train" || name == "evaluate" || name == "profile" || name == "doctor";
}

void set_rank_defaults(config::RunConfig& config, int ranks) {
    setup::fit_resumed_layout(config, ranks);
    setup::fit_default_batch(config, ranks);
    const std::vector<OptionGroup> options = make_train_options(config);
    config.ini_text = format_config_file(config_title, options);
    config.options = {collect_values_to_save(options), ranks};
}

Command parse_command_line(Arguments arguments, const std::string& mpi) {
    if (arguments.empty()) throw ConfigError("no command is given; see trireme --help");
    const std::string name = arguments.front();
    const Arguments rest = arguments.subspan(1);
    if (is_help_option(name)) return ShowText{format_general_help()};
    if (name == "--version") return ShowText{format_version(mpi)};
    refuse_unknown_command(name);
    if (has_help_option(rest)) return ShowText{format_command_help(name, has_all_option(rest) ? "--all" : "")};
    if (name == "help") return parse_help_command(rest);
    if (name == "train") return parse_train_command(rest);
    if (name == "evaluate")
        return parse_command_without_words("evaluate", rest, make_evaluate_options, check_evaluate_options);
    if (name == "plan") return parse_plan_command(rest);
    if (name == "simulate") return parse_simulate_command(rest);
    if (name == "profile")
        return parse_command_without_words("profile", rest, make_profile_options, check_profile_options);
    if (name == "doctor")
        return parse_command_without_words("doctor", rest, make_doctor_options, check_doctor_options);
    if (name == "prepare")
        return parse_tool_command("prepare", rest, make_prepare_options, store_prepare_inputs);
    if (name == "convert")
        return parse_tool_command("convert", rest, make_convert_options, store_convert_folders);
    if (name == "report") return parse_tool_command("report", rest, make_report_options, store_run_directory);
    return parse_tool_command("inspect", rest, make_inspect_options, store_inspect_file);
}

}  // namespace trireme::app
