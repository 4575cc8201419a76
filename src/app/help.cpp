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
constexpr std::size_t meaning_column = 27;  // where the meanings of options begin

constexpr const char* exit_codes =
    "Exit codes: 0 done; 2 an error that you can fix; 3 the machine failed (MPI, GPU, memory, disk);\n"
    "70 a bug of Trireme; 75 stopped early with a checkpoint: continue with --resume auto.\n";
constexpr const char* option_form =
    "\nWrite an option as --name value or --name=value, a switch as --name, --name=on or --name=off.\n";

// Appends `words` to `text`, whose last line is already `column` characters long; following lines are indented
// by `indent` characters.
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

std::string format_meaning(const OptionHelp& option) {
    const bool has_default = !option.default_text.empty() && !option.is_switch;
    return has_default ? cat(option.description.meaning, " (default ", option.default_text, ")")
                       : option.description.meaning;
}

void append_values(std::string& text, const std::vector<ValueMeaning>& values) {
    std::size_t widest = 0;
    for (const auto& [word, meaning] : values) widest = std::max(widest, word.size());
    const std::size_t column = meaning_column + 2 + widest + 2;
    for (const auto& [word, meaning] : values) {
        text += std::string(meaning_column + 2, ' ') + word + std::string(widest + 2 - word.size(), ' ');
        append_wrapped(text, meaning, column, column);
    }
}

void append_option(std::string& text, const OptionHelp& option) {
    const std::string left = "  " + format_name_and_value(option);
    text += left;
    text += left.size() + 2 > meaning_column ? "\n" + std::string(meaning_column, ' ')
                                             : std::string(meaning_column - left.size(), ' ');
    append_wrapped(text, format_meaning(option), meaning_column, meaning_column);
    append_values(text, option.description.values);
}

void append_group(std::string& text, const GroupHelp& group) {
    text += "\n" + group.name + ":\n";
    for (const OptionHelp& option : group.options) append_option(text, option);
}

// The caller ensures that there is a command of this name.
CommandHelp find_command(const std::string& name) {
    const std::vector<CommandHelp> commands = describe_commands();
    return *std::ranges::find(commands, name, &CommandHelp::name);
}

// Returns the option groups of a command, followed by the groups of `train` if the command takes the
// options of `train`.
std::vector<GroupHelp> list_all_groups(const CommandHelp& command) {
    std::vector<GroupHelp> groups = command.groups;
    if (command.takes_train_options)
        for (const GroupHelp& group : find_command("train").groups) groups.push_back(group);
    return groups;
}

std::vector<GroupHelp> select_common_options(std::vector<GroupHelp> groups) {
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

std::string join_group_names(const std::vector<GroupHelp>& groups) {
    std::string names;
    for (const GroupHelp& group : groups) names += (names.empty() ? "" : ", ") + group.name;
    return names;
}

std::vector<GroupHelp> select_group(const CommandHelp& command, const std::string& name) {
    const std::vector<GroupHelp> groups = list_all_groups(command);
    std::vector<std::string> known;
    for (const GroupHelp& group : groups) {
        if (group.name == name) return {group};
        known.push_back(group.name);
    }
    const std::string listed =
        known.empty() ? "it has no options" : "its groups are " + join_group_names(groups);
    throw ConfigError(cat(command.name, " has no group of options ", quote_text(name), " (", listed, ")",
                          suggest_word(name, known)));
}

std::string format_usage(const CommandHelp& command) {
    std::string text;
    for (const std::string& usage : command.usages) {
        const bool is_launched = usage.starts_with("mpirun");
        text += cat(text.empty() ? "Usage: " : "       ", is_launched ? "" : "trireme ", usage, "\n");
    }
    return text;
}

// Returns the paragraph that explains how to see the other options.
std::string explain_other_options(const CommandHelp& command, const std::vector<GroupHelp>& all) {
    std::string text = "\n";
    append_wrapped(text,
                   cat("These are the options that most runs need. `trireme help ", command.name,
                       " --all` shows all ", count_options(all), " options, `trireme help ", command.name,
                       " GROUP` shows those of one group: ", join_group_names(all), "."),
                   0, 0);
    return text;
}

}  // namespace

std::string format_general_help() {
    std::string text =
        "Trireme trains transformers under MPI on clusters that are not uniform.\n\n"
        "Usage: trireme COMMAND [options]\n\n";
    for (const CommandHelp& command : describe_commands())
        text += cat("  ", command.name, std::string(11 - command.name.size(), ' '), command.summary, "\n");
    text += "\n  --version  print the version of this program and of its libraries\n\n";
    return text + exit_codes;
}

std::string format_command_help(const std::string& name, const std::string& selection) {
    const CommandHelp command = find_command(name);
    std::string text = format_usage(command) + "\n";
    append_wrapped(text, command.description, 0, 0);
    const std::vector<GroupHelp> all = list_all_groups(command);
    std::vector<GroupHelp> selected_groups = all;
    if (selection.empty()) selected_groups = select_common_options(all);
    if (!selection.empty() && selection != "--all") selected_groups = select_group(command, selection);
    for (const GroupHelp& group : selected_groups) append_group(text, group);
    if (!all.empty()) text += option_form;
    const bool hides_some = selection.empty() && count_options(selected_groups) < count_options(all);
    return hides_some ? text + explain_other_options(command, all) : text;
}

std::string format_version(const std::string& mpi) {
    const BuildFacts facts = make_build_facts();
    return cat("trireme ", describe_version(), "\n", "compiler   ", facts.compiler, "\n", "MPI        ", mpi,
               "\n", "HDF5       ", facts.hdf5, "\n", "matmuls    ", facts.matmul_library, "\n");
}

}  // namespace trireme::app
