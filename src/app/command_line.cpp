#include "app/command_line.hpp"

#include <algorithm>
#include <boost/program_options.hpp>

#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"

namespace trireme::app {
namespace {

namespace po = boost::program_options;

// Every value stays text: the option itself knows what it expects, and says it better.
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

// Boost would give a switch the word after it: --skip-bad rows.jsonl.
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
    } catch (const po::invalid_command_line_syntax& error) {  // --batch= or --batch at the end
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

}  // namespace

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

}  // namespace trireme::app
