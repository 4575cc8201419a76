#include <algorithm>
#include <sstream>
#include <vector>

#include "app/commands.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/message_text.hpp"
#include "trireme/base/version.hpp"

namespace trireme::app {
namespace {

constexpr std::size_t line_width = 100;
constexpr std::size_t meaning_column = 27;

constexpr const char* exit_codes =
    "Exit codes: 0 done; 2 an error that you can fix; 3 the machine refused; 70 a bug of Trireme;\n"
    "75 stopped on request with a checkpoint: run it again to continue.\n";
constexpr const char* option_form =
    "\nWrite an option as --name value or --name=value, a switch as --name, --name=on or --name=off.\n";

// Appends `words` to `text`, whose last line is already `column` characters long; following lines are indented.
void append_wrapped(std::string& text, const std::string& words, std::size_t column, std::size_t indent) {
    std::istringstream in(words);
    bool is_first = true;
    for (std::string word; in >> word; is_first = false) {
        if (!is_first && column + 1 + word.size() > line_width) {
            text += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (!is_first) {
            text += ' ';
            ++column;
        }
        text += word;
        column += word.size();
    }
    text += '\n';
}

std::string with_default(const OptionHelp& option) {
    const bool has_default = !option.default_text.empty() && !option.is_switch;
    return has_default ? cat(option.words.meaning, " (default ", option.default_text, ")")
                       : option.words.meaning;
}

void append_values(std::string& text, const std::vector<ValueWords>& values) {
    std::size_t widest = 0;
    for (const auto& [word, meaning] : values) widest = std::max(widest, word.size());
    const std::size_t column = meaning_column + 2 + widest + 2;
    for (const auto& [word, meaning] : values) {
        text += std::string(meaning_column + 2, ' ') + word + std::string(widest + 2 - word.size(), ' ');
        append_wrapped(text, meaning, column, column);
    }
}

void append_option(std::string& text, const OptionHelp& option) {
    const std::string left = "  " + name_and_form(option);
    text += left;
    text += left.size() + 2 > meaning_column ? "\n" + std::string(meaning_column, ' ')
                                             : std::string(meaning_column - left.size(), ' ');
    append_wrapped(text, with_default(option), meaning_column, meaning_column);
    append_values(text, option.words.values);
}

void append_group(std::string& text, const GroupHelp& group) {
    text += "\n" + group.name + ":\n";
    for (const OptionHelp& option : group.options) append_option(text, option);
}

CommandHelp find_command(const std::string& name) {
    const std::vector<CommandHelp> commands = describe_commands();
    return *std::ranges::find(commands, name, &CommandHelp::name);
}

// Returns the groups of a command, followed by those of `train` if it takes them.
std::vector<GroupHelp> all_groups(const CommandHelp& command) {
    std::vector<GroupHelp> groups = command.groups;
    if (command.takes_train_options)
        for (const GroupHelp& group : find_command("train").groups) groups.push_back(group);
    return groups;
}

std::vector<GroupHelp> only_common(std::vector<GroupHelp> groups) {
    for (GroupHelp& group : groups)
        std::erase_if(group.options, [](const OptionHelp& option) { return !option.is_common; });
    std::erase_if(groups, [](const GroupHelp& group) { return group.options.empty(); });
    return groups;
}

std::size_t count_options(const std::vector<GroupHelp>& groups) {
    std::size_t count = 0;
    for (const GroupHelp& group : groups) count += group.options.size();
    return count;
}

std::string names_of_groups(const std::vector<GroupHelp>& groups) {
    std::string names;
    for (const GroupHelp& group : groups) names += (names.empty() ? "" : ", ") + group.name;
    return names;
}

std::vector<GroupHelp> one_group(const CommandHelp& command, const std::string& name) {
    const std::vector<GroupHelp> groups = all_groups(command);
    std::vector<std::string> known;
    for (const GroupHelp& group : groups) {
        if (group.name == name) return {group};
        known.push_back(group.name);
    }
    const std::string listed =
        known.empty() ? "it has no options" : "its groups are " + names_of_groups(groups);
    throw ConfigError(cat(command.name, " has no group of options ", in_quotes(name), " (", listed, ")",
                          did_you_mean(name, known)));
}

std::string usage_lines(const CommandHelp& command) {
    std::string text;
    for (const std::string& usage : command.usages) {
        const bool is_launched = usage.starts_with("mpirun");
        text += cat(text.empty() ? "Usage: " : "       ", is_launched ? "" : "trireme ", usage, "\n");
    }
    return text;
}

// Returns the paragraph that explains how to see the other options.
std::string remaining_options(const CommandHelp& command, const std::vector<GroupHelp>& all) {
    std::string text = "\n";
    append_wrapped(text,
                   cat("These are the options that most runs need. `trireme help ", command.name,
                       " --all` shows all ", count_options(all), ", `trireme help ", command.name,
                       " GROUP` those of a group: ", names_of_groups(all), "."),
                   0, 0);
    return text;
}

}  // namespace

std::string general_help() {
    std::string text =
        "Trireme trains transformers under MPI on clusters that are not uniform.\n\n"
        "Usage: trireme COMMAND [options]\n\n";
    for (const CommandHelp& command : describe_commands())
        text += cat("  ", command.name, std::string(11 - command.name.size(), ' '), command.summary, "\n");
    text += "\n  --version  print the version of this program and of its libraries\n\n";
    return text + exit_codes;
}

std::string command_help(const std::string& name, const std::string& extent) {
    const CommandHelp command = find_command(name);
    std::string text = usage_lines(command) + "\n";
    append_wrapped(text, command.description, 0, 0);
    const std::vector<GroupHelp> all = all_groups(command);
    std::vector<GroupHelp> shown = all;
    if (extent.empty()) shown = only_common(all);
    if (!extent.empty() && extent != "--all") shown = one_group(command, extent);
    for (const GroupHelp& group : shown) append_group(text, group);
    if (!all.empty()) text += option_form;
    const bool hides_some = extent.empty() && count_options(shown) < count_options(all);
    return hides_some ? text + remaining_options(command, all) : text;
}

std::string version_text(const std::string& mpi) {
    const BuildFacts facts = build_facts();
    return cat("trireme ", version(), "\n", "compiler   ", facts.compiler, "\n", "MPI        ", mpi, "\n",
               "HDF5       ", facts.hdf5, "\n", "matrices   ", facts.matrices, "\n");
}

}  // namespace trireme::app
