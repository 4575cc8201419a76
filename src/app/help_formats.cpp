// Writes the reference of all options as Markdown, man page and bash completion.
#include <cctype>
#include <vector>

#include "app/commands.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/version.hpp"

namespace trireme::app {
namespace {

std::string replace_all(std::string text, const std::string& from, const std::string& to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

// The functions below write Markdown.

// Escapes bars, which would end a table cell, even within code.
std::string escape_table_cell(const std::string& text) { return replace_all(text, "|", "\\|"); }

std::string format_markdown_row(const OptionHelp& option) {
    std::string meaning = option.description.meaning;
    for (const auto& [word, value_meaning] : option.description.values)
        meaning += cat("<br>`", word, "`: ", value_meaning);
    const std::string default_text = option.is_switch ? "off" : option.default_text;
    return cat("| `", escape_table_cell(format_name_and_value(option)), "` | ", escape_table_cell(meaning),
               " | ", default_text.empty() ? "" : "`" + escape_table_cell(default_text) + "`", " |\n");
}

std::string format_markdown_section(const CommandHelp& command) {
    std::string text = cat("\n## trireme ", command.name, "\n\n", command.description, "\n\n```text\n");
    for (const std::string& usage : command.usages)
        text += (usage.starts_with("mpirun") ? "" : "trireme ") + usage + "\n";
    text += "```\n";
    for (const GroupHelp& group : command.groups) {
        text += cat("\n### ", command.name, ": ", group.name,
                    "\n\n| option | meaning | default |\n|---|---|---|\n");
        for (const OptionHelp& option : group.options) text += format_markdown_row(option);
    }
    if (command.takes_train_options)
        text += cat("\n`trireme ", command.name, "` also takes the [options of `train`](#trireme-train).\n");
    return text;
}

// The functions below write the man page.

std::string escape_roff(const std::string& text) {
    std::string safe = replace_all(replace_all(text, "\\", "\\e"), "-", "\\-");
    if (safe.starts_with(".") || safe.starts_with("'")) safe.insert(0, "\\&");
    return safe;
}

std::string format_man_option(const OptionHelp& option) {
    std::string text = cat(".TP\n.B ", escape_roff(format_name_and_value(option)), "\n",
                           escape_roff(option.description.meaning));
    if (!option.default_text.empty() && !option.is_switch)
        text += cat(" (default ", escape_roff(option.default_text), ")");
    text += "\n";
    if (option.description.values.empty()) return text;
    text += ".RS\n";
    for (const auto& [word, meaning] : option.description.values)
        text += cat(".TP\n.B ", escape_roff(word), "\n", escape_roff(meaning), "\n");
    return text + ".RE\n";
}

std::string format_man_section(const CommandHelp& command) {
    std::string text = cat(".SH TRIREME ", command.name, "\n");
    for (char& letter : text) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    for (const std::string& usage : command.usages)
        text += cat(".br\n.B ", escape_roff((usage.starts_with("mpirun") ? "" : "trireme ") + usage), "\n");
    text += cat(".PP\n", escape_roff(command.description), "\n");
    for (const GroupHelp& group : command.groups) {
        text += cat(".SS ", command.name, ": ", group.name, "\n");
        for (const OptionHelp& option : group.options) text += format_man_option(option);
    }
    if (command.takes_train_options)
        text += cat(".PP\ntrireme ", command.name, " also takes the options of trireme train.\n");
    return text;
}

// The functions below write the completion script.

std::string join_option_names(const std::vector<GroupHelp>& groups) {
    std::string names;
    for (const GroupHelp& group : groups)
        for (const OptionHelp& option : group.options) names += " --" + option.description.name;
    return names;
}

// Returns the words of a value format such as "stop|overlap" or "stop|overlap[,...]", separated by blanks.
// Returns an empty text if the format has no bars, or if it contains a placeholder in capitals.
std::string list_fixed_words(const std::string& value_format) {
    const std::string list = value_format.substr(0, value_format.find('['));
    if (list.find('|') == std::string::npos) return "";
    for (const char letter : list)
        if (std::isupper(static_cast<unsigned char>(letter)) != 0) return "";
    return replace_all(list, "|", " ");
}

// Returns branches of a bash `case` statement, one per option whose values are fixed words. Example:
// "train:--move) values='stop overlap' ;;".
std::string format_completion_cases(const CommandHelp& command) {
    std::string text;
    for (const GroupHelp& group : command.groups) {
        for (const OptionHelp& option : group.options) {
            const std::string words = list_fixed_words(option.description.value_format);
            if (!words.empty() && !option.is_switch)
                text += cat("        ", command.name, ":--", option.description.name, ") values='", words,
                            "' ;;\n");
        }
    }
    return text;
}

}  // namespace

std::string format_markdown_reference() {
    std::string text =
        "# Options\n\n"
        "This page is printed by `trireme help --markdown`. [Options](../guide/options.md) explains config "
        "files and\n"
        "their order of precedence.\n";
    for (const CommandHelp& command : describe_commands()) text += format_markdown_section(command);
    return text;
}

std::string format_man_page() {
    std::string text =
        cat(".TH TRIREME 1 \"\" \"trireme ", escape_roff(describe_version()), "\" \"User Commands\"\n",
            ".SH NAME\ntrireme \\- train transformers under MPI on clusters that are not uniform\n",
            ".SH SYNOPSIS\n.B trireme\n.I COMMAND\n[options]\n");
    for (const CommandHelp& command : describe_commands()) text += format_man_section(command);
    return text +
           ".SH EXIT STATUS\n"
           "0: done. 2: an error that the user can fix. 3: the machine failed (MPI, GPU, memory, disk).\n"
           "70: a bug of Trireme. 75: stopped early with a checkpoint; continue with \\-\\-resume auto.\n";
}

std::string format_bash_completion() {
    const std::vector<CommandHelp> commands = describe_commands();
    const std::string train_option_names = join_option_names(commands.front().groups);  // `train` is first
    std::string names, options, values;
    for (const CommandHelp& command : commands) {
        names += (names.empty() ? "" : " ") + command.name;
        options += cat("        ", command.name, ") words='--help", join_option_names(command.groups),
                       command.takes_train_options ? train_option_names : "", "' ;;\n");
        values += format_completion_cases(command);
    }
    return cat(
        "# Completion of trireme for bash, printed by `trireme help --completion`.\n"
        "_trireme() {\n"
        "    local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
        "    local command=${COMP_WORDS[1]} words='' values=''\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ] || { [ \"$command\" = help ] && [ \"$COMP_CWORD\" -eq 2 ]; }; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W '",
        names,
        " --help --version' -- \"$word\")\n"
        "        return\n"
        "    fi\n"
        "    case $command:$previous in\n",
        values,
        "    esac\n"
        "    case $command in\n",
        options,
        "    esac\n"
        "    if [ -n \"$values\" ]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$values\" -- \"$word\")\n"
        "    elif [[ $word == -* ]]; then\n"
        "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
        "    else\n"
        "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
        "    fi\n"
        "}\n"
        "complete -o filenames -F _trireme trireme\n");
}

}  // namespace trireme::app
